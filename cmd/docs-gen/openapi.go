package main

import (
	"io"

	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// writeOpenAPI writes the document that the server serves at /api/v1/openapi.json.
func writeOpenAPI(out io.Writer) error {
	document, err := rest.Document()
	if err != nil {
		return err
	}
	_, err = out.Write(document)
	return err
}

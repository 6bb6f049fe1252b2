package main

import (
	"bytes"
	_ "embed"
	"os"
	"text/template"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

//go:embed environment.yaml.tmpl
var environmentTemplate string

// writeEnvironmentPolicy writes the admission policy that refuses what each framework reserves, and what the
// contract of checkpoints does.
func writeEnvironmentPolicy(path string) error {
	t, err := template.New("environment").Parse(environmentTemplate)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = t.Execute(&text, struct {
		Frameworks []framework.Framework
		Contract   []string
	}{framework.All(), spec.ContractEnv})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

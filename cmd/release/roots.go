package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// rootsModule is the module whose certificates the images have.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// rootsPath is where crypto/x509 looks first on Linux (root_linux.go).
const rootsPath = "/etc/ssl/certs/ca-certificates.crt"

// roots are the certificates, in PEM, of the authorities that Mozilla trusts. Those that it trusts only in
// part are left out, since a file cannot say so.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return out.Bytes()
}

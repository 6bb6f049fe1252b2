package config

import (
	"net"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateAddress accepts host:port, :port and Off.
func validateAddress(path *field.Path, value string) field.ErrorList {
	if value == Off {
		return nil
	}
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		return field.ErrorList{field.Invalid(path, value,
			`must be host:port, such as ":8443", or "0" to turn it off`)}
	}
	return nil
}

func validateMetricsCertificate(path *field.Path, m Metrics) field.ErrorList {
	switch dir := m.CertificateDir; {
	case dir == "":
		return nil
	case !m.Secure:
		return field.ErrorList{field.Invalid(path, dir,
			"has no use without TLS: set metrics.secure to true, or leave it out")}
	default:
		return validateDirectory(path, dir)
	}
}

// validateDirectory accepts absolute paths in their shortest form.
func validateDirectory(path *field.Path, dir string) field.ErrorList {
	if filepath.IsAbs(dir) && filepath.Clean(dir) == dir {
		return nil
	}
	return field.ErrorList{field.Invalid(path, dir, "must be an absolute path without . or ..")}
}

// unprintable reports whether a character is a space or not printable ASCII.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }

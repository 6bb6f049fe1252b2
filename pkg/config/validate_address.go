package config

import (
	"net"

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

// unprintable reports whether a character is a space or not printable ASCII.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }

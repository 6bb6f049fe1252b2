package config

import (
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
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

// validateLoopback accepts host:port that other machines cannot reach, and Off.
func validateLoopback(path *field.Path, value string) field.ErrorList {
	if errs := validateAddress(path, value); len(errs) > 0 || value == Off {
		return errs
	}
	host, _, _ := net.SplitHostPort(value) // as validateAddress found
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value,
		"must be on a loopback address, such as localhost:6060: everybody who reaches it may read")}
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

// hostProblem returns what is wrong with the host and the port of a URL, or an empty text.
func hostProblem(u *url.URL) string {
	if len(validation.IsDNS1123Subdomain(u.Hostname())) > 0 &&
		len(validation.IsValidIP(nil, u.Hostname())) > 0 {
		return "must have a host name or an IP address"
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "must have a port from 1 to 65535"
		}
	}
	return ""
}

// unprintable reports whether a character is a space or not printable ASCII.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }

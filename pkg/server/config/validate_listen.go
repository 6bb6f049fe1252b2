package config

import (
	"net"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateListen refuses plain HTTP that others could reach, unless that is asked for by name.
func validateListen(path *field.Path, l Listen) field.ErrorList {
	errs := validateAddress(path.Child("bindAddress"), l.BindAddress)
	switch {
	case l.CertificateDir != "" && l.Insecure:
		errs = append(errs, field.Invalid(path.Child("insecure"), true,
			"has no use with a certificate: leave insecure or certificateDir out"))
	case l.CertificateDir != "":
		errs = append(errs, validateFile(path.Child("certificateDir"), l.CertificateDir)...)
	case len(errs) == 0 && l.BindAddress != Off && !l.Insecure && !isLoopback(l.BindAddress):
		errs = append(errs, field.Required(path.Child("certificateDir"), "clients send their tokens to "+
			l.BindAddress+": mount a directory with tls.crt and tls.key and name it here, or bind a loopback "+
			"address such as localhost:8080, or set insecure to true where something else encrypts"))
	}
	return errs
}

func validateMetrics(path *field.Path, m Metrics) field.ErrorList {
	errs := validateAddress(path.Child("bindAddress"), m.BindAddress)
	switch {
	case m.CertificateDir == "":
	case !m.Secure:
		errs = append(errs, field.Invalid(path.Child("certificateDir"), m.CertificateDir,
			"has no use without TLS: set metrics.secure to true, or leave it out"))
	default:
		errs = append(errs, validateFile(path.Child("certificateDir"), m.CertificateDir)...)
	}
	return errs
}

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

// isLoopback reports whether nobody on another machine reaches an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// validateFile accepts absolute paths in their shortest form.
func validateFile(path *field.Path, name string) field.ErrorList {
	if filepath.IsAbs(name) && filepath.Clean(name) == name {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be an absolute path without . or ..")}
}

package config

import (
	"net"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// validateListen rejects plain HTTP that other machines can reach, unless it is explicitly allowed.
func validateListen(path *field.Path, l Listen) field.ErrorList {
	errs := validateAddress(path.Child("bindAddress"), l.BindAddress)
	switch {
	case l.CertificateDir != "" && l.Insecure:
		errs = append(errs, field.Invalid(path.Child("insecure"), true,
			"conflicts with the certificate: remove insecure or certificateDir"))
	case l.CertificateDir != "":
		errs = append(errs, validateFile(path.Child("certificateDir"), l.CertificateDir)...)
	case len(errs) == 0 && l.BindAddress != Off && !l.Insecure && !isLoopback(l.BindAddress):
		errs = append(errs, field.Required(path.Child("certificateDir"), "clients send their tokens to "+
			l.BindAddress+": set a directory with tls.crt and tls.key, or bind a loopback "+
			"address such as localhost:8080, or set insecure to true if a proxy encrypts"))
	}
	proxies := path.Child("trustedProxies")
	if len(l.TrustedProxies) > maxProxies {
		errs = append(errs, field.TooMany(proxies, len(l.TrustedProxies), maxProxies))
	}
	for n, network := range l.TrustedProxies {
		if _, err := identity.NewForwarders([]string{network}); err != nil {
			errs = append(errs, field.Invalid(proxies.Index(n), network,
				"must be a network such as 10.0.0.0/8 or 192.0.2.7/32: only its proxies may name their clients"))
		}
	}
	return errs
}

func validateMetrics(path *field.Path, m Metrics) field.ErrorList {
	errs := validateAddress(path.Child("bindAddress"), m.BindAddress)
	switch {
	case m.CertificateDir == "":
	case !m.Secure:
		errs = append(errs, field.Invalid(path.Child("certificateDir"), m.CertificateDir,
			"requires TLS: set metrics.secure to true, or remove it"))
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
			`must be host:port, such as ":8443", or "0" to disable it`)}
	}
	return nil
}

// isLoopback reports whether other machines cannot reach an address.
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

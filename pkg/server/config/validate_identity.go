package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateIdentity checks identity against the rest of the file.
func validateIdentity(path *field.Path, c ServerConfiguration) field.ErrorList {
	errs := c.Identity.Validate(path)
	if name := c.Identity.TokenReview.Cluster; name != "" {
		var known []string
		for _, cluster := range c.AllClusters() {
			known = append(known, cluster.Name)
		}
		if !slices.Contains(known, name) { // otherwise another cluster would authenticate callers
			errs = append(errs, field.NotSupported(path.Child("tokenReview", "cluster"), name, known))
		}
	}
	if c.Identity.Proxies.On() && c.Listen.CertificateDir == "" && c.Listen.BindAddress != Off {
		errs = append(errs, field.Invalid(path.Child("proxies", "clientCAFile"), c.Identity.Proxies.ClientCAFile,
			"requires TLS for the proxies' certificates: set listen.certificateDir, or remove "+
				"proxies"))
	}
	return errs
}

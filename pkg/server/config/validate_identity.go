package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateIdentity checks what identity says against the rest of the file.
func validateIdentity(path *field.Path, c ServerConfiguration) field.ErrorList {
	errs := c.Identity.Validate(path)
	if name := c.Identity.TokenReview.Cluster; name != "" {
		var known []string
		for _, cluster := range c.AllClusters() {
			known = append(known, cluster.Name)
		}
		if !slices.Contains(known, name) { // another cluster would otherwise say who is calling
			errs = append(errs, field.NotSupported(path.Child("tokenReview", "cluster"), name, known))
		}
	}
	if c.Identity.Proxies.On() && c.Listen.CertificateDir == "" && c.Listen.BindAddress != Off {
		errs = append(errs, field.Invalid(path.Child("proxies", "clientCAFile"), c.Identity.Proxies.ClientCAFile,
			"has no use without TLS, over which proxies show their certificates: set listen.certificateDir, or leave "+
				"proxies out"))
	}
	return errs
}

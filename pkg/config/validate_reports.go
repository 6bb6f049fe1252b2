package config

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateReports checks what is given even while the server is off, and what is missing if it is on.
func validateReports(path *field.Path, r Reports) field.ErrorList {
	errs := validateAddress(path.Child("bindAddress"), r.BindAddress)
	switch {
	case r.URL != "":
		if problem := urlProblem(r.URL); problem != "" {
			// The value is left out: it may hold credentials.
			errs = append(errs, field.Invalid(path.Child("url"), field.OmitValueType{}, problem))
		}
	case r.On():
		errs = append(errs, field.Required(path.Child("url"), "the ranks' pods are given it: set one such as "+
			`https://trainingjob-reports.trainingjob-system.svc:9443, or bindAddress "0"`))
	}
	dir := path.Child("certificateDir")
	switch {
	case r.CertificateDir != "":
		errs = append(errs, validateDirectory(dir, r.CertificateDir)...)
	case r.On():
		errs = append(errs, field.Required(dir, "mount a directory with tls.crt, tls.key and ca.crt "+
			`(see deploy/reports) and name it here, or set bindAddress "0"`))
	}
	if len(r.Audience) == 0 || len(r.Audience) > 253 || strings.ContainsFunc(r.Audience, unprintable) {
		errs = append(errs, field.Invalid(path.Child("audience"), r.Audience,
			"must have 1 to 253 printable ASCII characters and no space"))
	}
	return errs
}

// urlProblem returns what is wrong with a URL that tokens are sent to, or an empty text.
func urlProblem(text string) string {
	const form = ", write https://<host>:<port>"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "cannot be read" + form
	case u.Scheme != "https":
		return "must begin with https://, for tokens go there" + form
	case u.User != nil:
		return "must not have credentials in it" + form
	case u.Path != "" && u.Path != "/":
		return "must not have a path, reports go to /v1/reports below it" + form
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return "must not have a query or a fragment" + form
	}
	if problem := hostProblem(u); problem != "" {
		return problem + form
	}
	return ""
}

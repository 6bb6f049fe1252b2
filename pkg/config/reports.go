package config

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DefaultAudience of the tokens that reports carry.
const DefaultAudience = "trainingjob-reports.mlplatform.example.com"

// Reports is the server that the ranks report progress and checkpoints to. Where it is off, jobs train as they would with it, and the
// operator learns of neither.
type Reports struct {
	// BindAddress, such as ":9443"; default "0", which turns the server off: it needs certificates, and an address that pods reach.
	BindAddress string `json:"bindAddress"`
	// URL under which the ranks' pods reach the server, such as https://trainingjob-reports.trainingjob-system.svc:9443: https, a host
	// and perhaps a port, nothing else. Reports go to the path /v1/reports below it. Required where the server is on.
	URL string `json:"url,omitempty"`
	// CertificateDir is the absolute path of the directory that holds tls.crt and tls.key, for the URL's host, and ca.crt: what the ranks
	// trust, one or more certificates in PEM, at most 64 KiB. The files may be replaced while the operator runs. Required where the
	// server is on.
	CertificateDir string `json:"certificateDir,omitempty"`
	// Audience of the tokens, default trainingjob-reports.mlplatform.example.com. Another one where two operators share a cluster's
	// issuer, so that neither takes the other's tokens.
	Audience string `json:"audience"`
}

// On says whether there is a server.
func (r Reports) On() bool { return r.BindAddress != Off }

// validate checks what is given also while the server is off, and what is missing when it is on.
func (r Reports) validate(path *field.Path) field.ErrorList {
	errs := address(path.Child("bindAddress"), r.BindAddress)
	switch {
	case r.URL != "":
		if problem := urlProblem(r.URL); problem != "" {
			// The value is left out: it may hold credentials.
			errs = append(errs, field.Invalid(path.Child("url"), field.OmitValueType{}, problem))
		}
	case r.On():
		errs = append(errs, field.Required(path.Child("url"), `the ranks' pods are given it: set one such as https://trainingjob-reports.trainingjob-system.svc:9443, or bindAddress "0"`))
	}
	switch {
	case r.CertificateDir != "" && (!filepath.IsAbs(r.CertificateDir) || filepath.Clean(r.CertificateDir) != r.CertificateDir):
		errs = append(errs, field.Invalid(path.Child("certificateDir"), r.CertificateDir, "must be an absolute path without . or .."))
	case r.CertificateDir == "" && r.On():
		errs = append(errs, field.Required(path.Child("certificateDir"), `mount a directory with tls.crt, tls.key and ca.crt (see deploy/reports) and name it here, or set bindAddress "0"`))
	}
	if len(r.Audience) == 0 || len(r.Audience) > 253 || strings.ContainsFunc(r.Audience, func(c rune) bool { return c <= ' ' || c > '~' }) {
		errs = append(errs, field.Invalid(path.Child("audience"), r.Audience, "must have 1 to 253 printable ASCII characters and no space"))
	}
	return errs
}

// urlProblem says what is wrong with a URL that tokens are sent to; empty: nothing.
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
	case len(validation.IsDNS1123Subdomain(u.Hostname())) > 0 && len(validation.IsValidIP(nil, u.Hostname())) > 0:
		return "must have a host name or an IP address" + form
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "must have a port from 1 to 65535" + form
		}
	}
	return ""
}

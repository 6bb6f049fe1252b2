package config

import (
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxTrackingURI bounds what every job's status and every rank repeats, in bytes.
const maxTrackingURI = 253

// trackingPath is where a server may be below its host: no segment begins with a dot, and none is escaped.
var trackingPath = regexp.MustCompile("^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$")

func validateMLflow(path *field.Path, m MLflow) field.ErrorList {
	if m.TrackingURI == "" {
		return nil
	}
	if problem := trackingURIProblem(m.TrackingURI); problem != "" {
		// The value is left out: it may hold credentials.
		return field.ErrorList{field.Invalid(path.Child("trackingURI"), field.OmitValueType{}, problem)}
	}
	return nil
}

// trackingURIProblem returns what is wrong with a URL that all ranks are given, or an empty text.
func trackingURIProblem(text string) string {
	const form = ", write http://<host>:<port> or https://<host>:<port>/<path>"
	u, err := url.Parse(text)
	switch {
	case len(text) > maxTrackingURI:
		return "must be at most 253 characters long" + form
	case err != nil:
		return "cannot be read" + form
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://, for it is a server's" + form
	case u.User != nil:
		return "must not have credentials in it, which everybody who may read pods would read" + form
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return "must not have a query or a fragment" + form
	case !trackingPath.MatchString(u.EscapedPath()):
		return "must have a path of letters, digits, '_', '-', '~' and '.', or none" + form
	}
	if problem := hostProblem(u); problem != "" {
		return problem + form
	}
	return ""
}

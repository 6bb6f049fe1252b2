package mlflow

import (
	"net/url"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config says which tracking server has the runs of the jobs.
type Config struct {
	// URL of the tracking server, without /api: http or https, a host, an optional port and an optional path,
	// such as https://mlflow.example.com. The ranks are told by the operator's configuration
	// (mlflow.trackingURI), under another name perhaps. By default there is none, and nothing is sent.
	URL string `json:"url,omitempty"`
	// TokenFile is the absolute path of a file with a bearer token, such as a key of a mounted secret. It is
	// read for every request.
	TokenFile string `json:"tokenFile,omitempty"`
	// BasicAuthDir is the absolute path of a directory with the files username and password, such as a mounted
	// secret of type kubernetes.io/basic-auth. They are read for every request. Instead of tokenFile.
	BasicAuthDir string `json:"basicAuthDir,omitempty"`
	// CAFile is the absolute path of a file with the certificates, in PEM, of the authorities that may have
	// signed the tracking server's. It is read when the server starts. By default they are the system's.
	CAFile string `json:"caFile,omitempty"`
	// Insecure sends the credentials over plain HTTP too, where everybody on the way can read them. On a
	// loopback address that is always allowed.
	Insecure bool `json:"insecure"`
	// ParameterPrefix stands before the names of the parameters that are made of hyperparameters: at most 50
	// letters, digits and characters of "_-. /". A parameter never changes, and a trainer that logs one of the
	// same name with another spelling of its value, as True for true, is refused by the tracking server. With a
	// prefix, such as "job/", the two never meet. None by default.
	ParameterPrefix string `json:"parameterPrefix,omitempty"`
	// RequestsPerSecond to the tracking server, at most, from 1 to 1000.
	RequestsPerSecond int `json:"requestsPerSecond"`
}

// DefaultConfig is the configuration of a server that sends nothing.
func DefaultConfig() Config { return Config{RequestsPerSecond: 50} }

// On reports whether there is a tracking server.
func (c Config) On() bool { return c.URL != "" }

const maxPrefix = 50

// Validate returns what is wrong with the configuration, by field.
func (c Config) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if problem := urlProblem(c.URL); c.On() && problem != "" {
		// The value is left out: it may hold credentials.
		errs = append(errs, field.Invalid(path.Child("url"), field.OmitValueType{}, problem))
	}
	for _, file := range []struct{ key, value string }{
		{"tokenFile", c.TokenFile}, {"basicAuthDir", c.BasicAuthDir}, {"caFile", c.CAFile},
	} {
		switch at := path.Child(file.key); {
		case file.value == "":
		case !c.On():
			errs = append(errs, field.Invalid(at, file.value, "has no use without a tracking server: set url too"))
		case !filepath.IsAbs(file.value) || filepath.Clean(file.value) != file.value:
			errs = append(errs, field.Invalid(at, file.value, "must be an absolute path without . or .."))
		}
	}
	if c.TokenFile != "" && c.BasicAuthDir != "" {
		errs = append(errs, field.Invalid(path.Child("basicAuthDir"), c.BasicAuthDir,
			"one request carries one kind of credentials: remove tokenFile or basicAuthDir"))
	}
	if c.TokenFile+c.BasicAuthDir != "" && !c.Insecure && readable(c.URL) {
		errs = append(errs, field.Invalid(path.Child("url"), field.OmitValueType{},
			"credentials would go over plain HTTP: use https://, or set insecure to true"))
	}
	if len(c.ParameterPrefix) > maxPrefix || cleanKey(c.ParameterPrefix) != c.ParameterPrefix {
		errs = append(errs, field.Invalid(path.Child("parameterPrefix"), c.ParameterPrefix,
			`must be at most 50 letters, digits and characters of "_-. /"`))
	}
	if c.RequestsPerSecond < 1 || c.RequestsPerSecond > 1000 {
		errs = append(errs, field.Invalid(path.Child("requestsPerSecond"), c.RequestsPerSecond,
			"must be from 1 to 1000"))
	}
	return errs
}

// urlProblem returns what is wrong with a tracking server's URL, or an empty text.
func urlProblem(text string) string {
	const form = ", write https://<host>:<port>"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "cannot be read" + form
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://" + form
	case u.Hostname() == "":
		return "must have a host" + form
	case u.User != nil:
		return "must not have credentials in it: use tokenFile or basicAuthDir"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return "must not have a query or a fragment" + form
	}
	return ""
}

// readable reports whether what is sent to a URL can be read on its way.
func readable(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "http" && !loopback(u.Hostname())
}

package mlflow

import (
	"net/url"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config configures the tracking server for the runs of the jobs.
type Config struct {
	// URL of the tracking server without /api, such as https://mlflow.example.com: http or https, with
	// optional port and path. By default the server sends nothing.
	URL string `json:"url,omitempty"`
	// TokenFile is the absolute path of a file with a bearer token, read for every request.
	TokenFile string `json:"tokenFile,omitempty"`
	// BasicAuthDir is the absolute path of a directory with the files username and password, read for every
	// request. It replaces tokenFile.
	BasicAuthDir string `json:"basicAuthDir,omitempty"`
	// CAFile is the absolute path of the PEM file of CAs for the tracking server's certificate, read at
	// startup. By default the CAs of the system.
	CAFile string `json:"caFile,omitempty"`
	// Insecure allows credentials over plain HTTP. A loopback address always does.
	Insecure bool `json:"insecure"`
	// ParameterPrefix of parameter names from hyperparameters, such as "job/": at most 50 letters, digits and
	// characters of "_-. /". It avoids conflicts with parameters of the trainer. By default none.
	ParameterPrefix string `json:"parameterPrefix,omitempty"`
	// RequestsPerSecond to the tracking server, from 1 to 1000.
	RequestsPerSecond int `json:"requestsPerSecond"`
}

// DefaultConfig returns the configuration of a server that sends nothing.
func DefaultConfig() Config { return Config{RequestsPerSecond: 50} }

// On reports whether there is a tracking server.
func (c Config) On() bool { return c.URL != "" }

const maxPrefix = 50

// Validate returns the errors of the configuration, by field.
func (c Config) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if problem := urlProblem(c.URL); c.On() && problem != "" {
		// The value is omitted: it can contain credentials.
		errs = append(errs, field.Invalid(path.Child("url"), field.OmitValueType{}, problem))
	}
	for _, file := range []struct{ key, value string }{
		{"tokenFile", c.TokenFile}, {"basicAuthDir", c.BasicAuthDir}, {"caFile", c.CAFile},
	} {
		switch at := path.Child(file.key); {
		case file.value == "":
		case !c.On():
			errs = append(errs, field.Invalid(at, file.value, "requires a tracking server: set url"))
		case !filepath.IsAbs(file.value) || filepath.Clean(file.value) != file.value:
			errs = append(errs, field.Invalid(at, file.value, "must be an absolute path without . or .."))
		}
	}
	if c.TokenFile != "" && c.BasicAuthDir != "" {
		errs = append(errs, field.Invalid(path.Child("basicAuthDir"), c.BasicAuthDir,
			"conflicts: remove tokenFile or basicAuthDir"))
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

// urlProblem returns what is wrong with a tracking server's URL, or "".
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

// readable reports whether the network can read requests to a URL.
func readable(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "http" && !loopback(u.Hostname())
}

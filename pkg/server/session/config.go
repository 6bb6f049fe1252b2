package session

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// Config configures the board and browser logins.
type Config struct {
	// Enabled serves the board and allows browser logins.
	Enabled bool `json:"enabled"`
	// URL at which browsers reach the server, such as https://trainingjobs.example.com: without a path; http
	// only on a loopback address. The issuers need <url>/login/callback as redirect URI. Required with login
	// of an issuer.
	URL string `json:"url,omitempty"`
	// SessionHours until a browser must log in again, from 1 to 168. Groups are those of the login.
	SessionHours int `json:"sessionHours"`
	// OneTimeLink is a link that logs in one browser of this machine without a password, for demonstrations.
	OneTimeLink OneTimeLink `json:"oneTimeLink,omitzero"`
}

// OneTimeLink is a login link that the server writes at startup. It works once, within ten minutes, and only
// if the API listens on a loopback address.
type OneTimeLink struct {
	// User that the one-time link logs in, spelled as in RoleBindings. It must not begin with "system:".
	// Required.
	User string `json:"user,omitempty"`
	// Groups of that user. None may begin with "system:".
	Groups []string `json:"groups,omitempty"`
	// File is the absolute path of a file in an existing directory, which receives the link. By default
	// standard output.
	File string `json:"file,omitempty"`
}

// On reports whether there is a link.
func (l OneTimeLink) On() bool { return l.User != "" }

const maxHours = 7 * 24

// Default returns the default configuration.
func Default() Config { return Config{Enabled: true, SessionHours: 12} }

// Validate returns what is wrong with a configuration, by field below path.
func (c Config) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.SessionHours < 1 || c.SessionHours > maxHours {
		errs = append(errs, field.Invalid(path.Child("sessionHours"), c.SessionHours,
			fmt.Sprintf("must be from 1 to %d", maxHours)))
	}
	if c.URL != "" {
		errs = append(errs, validateURL(path.Child("url"), c.URL)...)
	}
	return append(errs, c.OneTimeLink.validate(path.Child("oneTimeLink"))...)
}

func validateURL(path *field.Path, text string) field.ErrorList {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.Hostname() == "",
		u.Path != "" && u.Path != "/", u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			"must be https://<host>[:<port>] and nothing else: the server serves the root of a host")}
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return field.ErrorList{field.Invalid(path, text, "must be https: on plain http the network can read "+
			"the browsers' sessions. A loopback address can use http, such as http://localhost:8080")}
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l OneTimeLink) validate(path *field.Path) field.ErrorList {
	if !l.On() {
		if len(l.Groups) > 0 || l.File != "" {
			return field.ErrorList{field.Required(path.Child("user"),
				"name the user that the link logs in, or remove oneTimeLink")}
		}
		return nil
	}
	var errs field.ErrorList
	if _, err := identity.FromLink(l.User, l.Groups); err != nil {
		errs = append(errs, field.Invalid(path, l.User, err.Error()+": choose another, such as demo:alice"))
	}
	if l.File != "" && (!filepath.IsAbs(l.File) || filepath.Clean(l.File) != l.File) {
		errs = append(errs, field.Invalid(path.Child("file"), l.File,
			"must be an absolute path without . or .."))
	}
	return errs
}

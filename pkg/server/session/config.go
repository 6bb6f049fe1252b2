package session

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// Config is the board, and how browsers log in to it.
type Config struct {
	// Enabled serves the board and lets browsers log in.
	Enabled bool `json:"enabled"`
	// URL at which browsers reach the server, such as https://trainingjobs.example.com: without a path; https,
	// or http on a loopback address. The issuers must know <url>/login/callback as redirect URI. Required where
	// an issuer has login.
	URL string `json:"url,omitempty"`
	// SessionHours after which a browser must log in again, from 1 to 168. Until then its user has the groups
	// that it had at the login. A session that was made from a token ends with the token at the latest.
	SessionHours int `json:"sessionHours"`
	// OneTimeLink is a link that logs a browser of this machine in without a password, for demonstrations.
	OneTimeLink OneTimeLink `json:"oneTimeLink,omitzero"`
}

// OneTimeLink is written when the server starts: it counts once, for ten minutes. Only where the API listens
// on a loopback address.
type OneTimeLink struct {
	// User as whom whoever opens the link is logged in, by the whole name that RoleBindings have. It may not
	// begin with "system:". Required.
	User string `json:"user,omitempty"`
	// Groups of that user. None may begin with "system:".
	Groups []string `json:"groups,omitempty"`
	// File is the absolute path of a file in a folder that exists, into which the link is written, for its owner
	// alone. By default it is printed on the standard output.
	File string `json:"file,omitempty"`
}

// On reports whether there is a link.
func (l OneTimeLink) On() bool { return l.User != "" }

const maxHours = 7 * 24

// Default is the configuration where nothing is said.
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
		return field.ErrorList{field.Invalid(path, text, "must be https: whoever is on the way could take the "+
			"browsers' sessions. Plain http is accepted on a loopback address, such as http://localhost:8080")}
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
				"name the user whom the link logs in, or leave oneTimeLink out")}
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

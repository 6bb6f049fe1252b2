package session

import (
	"net/url"
	"strings"
)

// home is where a login leads that nothing else led to.
const home = "/"

// localPath is the path of this server to which a login leads: what was asked for where it is one, else home.
// Browsers take more for another host than RFC 3986 does: they read \ as /, and drop tabs and line breaks,
// which url.Parse refuses.
func localPath(asked string) string {
	if len(asked) > maxNextBytes || !strings.HasPrefix(asked, "/") ||
		strings.Contains(asked, `\`) {
		return home
	}
	u, err := url.Parse(asked)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return home
	}
	// Neither may what is behind an escape be another host, for whoever unescapes it once more.
	if strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, `\`) || Open(u.Path) {
		return home
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String()
}

// loginFor is where a browser logs in that asked for a page.
func loginFor(asked string) string {
	if next := localPath(asked); next != home {
		return LoginPath + "?" + url.Values{fieldNext: {next}}.Encode()
	}
	return LoginPath
}

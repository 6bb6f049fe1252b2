package session

import (
	"net/url"
	"strings"
)

// home is the default destination of a login.
const home = "/"

// localPath returns the path of this server to which a login leads: the requested one if it is local, else
// home. Browsers read \ as / and drop tabs and line breaks, which url.Parse rejects.
func localPath(asked string) string {
	if len(asked) > maxNextBytes || !strings.HasPrefix(asked, "/") ||
		strings.Contains(asked, `\`) {
		return home
	}
	u, err := url.Parse(asked)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return home
	}
	// The unescaped path must not be another host either, in case a client unescapes it again.
	if strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, `\`) || Open(u.Path) {
		return home
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String()
}

// loginFor returns the login URL of a browser that requested a page.
func loginFor(asked string) string {
	if next := localPath(asked); next != home {
		return LoginPath + "?" + url.Values{fieldNext: {next}}.Encode()
	}
	return LoginPath
}

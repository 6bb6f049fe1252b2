package session

import (
	"net/http"
	"strings"
	"time"
)

// The names of the cookies, without prefix.
const (
	cookieSession = "trainingjob-session"
	cookieLogin   = "trainingjob-login" // followed by the beginning of the login's state
)

// cookies of this server.
type cookies struct {
	// secure is false only for plain HTTP on a loopback address.
	secure bool
}

// name of a cookie. A browser accepts the prefix __Host- only from this host over TLS, so no other host of
// the domain can set it. On plain HTTP browsers reject such cookies; there other programs on the machine's
// ports receive the cookies, and can set some.
func (c cookies) name(base string) string {
	if c.secure {
		return "__Host-" + base
	}
	return base
}

// set sets a cookie of this browser for a time.
//
// SameSite is Lax, not Strict: a browser does not send a Strict cookie with the first request after a link
// from another site, so a shared link would require a login each time, and an issuer's redirect would come
// without its login's cookie. A browser sends Lax cookies when it navigates to a page, which changes nothing,
// and never with another site's form, frame or script.
func (c cookies) set(w http.ResponseWriter, base, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: c.name(base), Value: value, Path: "/", MaxAge: int(lasts.Seconds()), HttpOnly: true,
		Secure: c.secure, SameSite: http.SameSiteLaxMode,
	})
}
func (c cookies) remove(w http.ResponseWriter, base string) { c.set(w, base, "", -time.Second) }

// value of a cookie that the request has exactly once: on plain HTTP others can set a second.
func (c cookies) value(r *http.Request, base string) (value string, count int) {
	all := r.CookiesNamed(c.name(base))
	if len(all) != 1 {
		return "", len(all)
	}
	return all[0].Value, 1
}

// startingWith returns the cookies of a request whose names, without their prefix, start with a text.
func (c cookies) startingWith(r *http.Request, start string) map[string]string {
	all := map[string]string{}
	for _, cookie := range r.Cookies() {
		if base, ours := strings.CutPrefix(cookie.Name, c.name("")); ours && strings.HasPrefix(base, start) {
			all[base] = cookie.Value
		}
	}
	return all
}

package session

import (
	"net/http"
	"strings"
	"time"
)

// The cookies, without their prefix.
const (
	cookieSession = "trainingjob-session"
	cookieLogin   = "trainingjob-login" // followed by the beginning of the login's state
)

// cookies of this server's in browsers.
type cookies struct {
	// secure is false on plain HTTP of a loopback address alone.
	secure bool
}

// name of a cookie. With the prefix __Host- a browser takes it from this very host alone, over TLS, so that
// no other name of the domain can plant one. On plain HTTP browsers take no such cookie; there programs that
// listen on other ports of the machine get the cookies too, and can plant some.
func (c cookies) name(base string) string {
	if c.secure {
		return "__Host-" + base
	}
	return base
}

// set a cookie of this browser for a time.
//
// SameSite is Lax and not Strict: a browser does not send a Strict cookie with the first request after a link
// from another site, so a page that a colleague shared in a chat would ask for a login each time, and an
// issuer's redirect would come without the cookie of its login. Lax sends it when the browser goes to a page,
// which changes nothing, and never with another site's form, frame or script.
func (c cookies) set(w http.ResponseWriter, base, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: c.name(base), Value: value, Path: "/", MaxAge: int(lasts.Seconds()), HttpOnly: true,
		Secure: c.secure, SameSite: http.SameSiteLaxMode,
	})
}

func (c cookies) remove(w http.ResponseWriter, base string) { c.set(w, base, "", -time.Second) }

// value of a cookie. There may be one: on plain HTTP others can plant a second, and the browser does not tell
// which is whose.
func (c cookies) value(r *http.Request, base string) (value string, count int) {
	all := r.CookiesNamed(c.name(base))
	if len(all) != 1 {
		return "", len(all)
	}
	return all[0].Value, 1
}

// startingWith are the cookies of a request whose names, without their prefix, start so.
func (c cookies) startingWith(r *http.Request, start string) map[string]string {
	all := map[string]string{}
	for _, cookie := range r.Cookies() {
		if base, ours := strings.CutPrefix(cookie.Name, c.name("")); ours && strings.HasPrefix(base, start) {
			all[base] = cookie.Value
		}
	}
	return all
}

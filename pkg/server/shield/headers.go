package shield

import "net/http"

// contentPolicy forbids a browser to load or run anything.
const contentPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// strict are the headers of every response. They are set before the request is handled, so that a page can
// override those that it needs.
var strict = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      contentPolicy,
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// strictTransport keeps browsers from plain HTTP for a year.
const strictTransport = "max-age=31536000"

func setStrict(h http.Header, secure bool) {
	for key, value := range strict {
		h.Set(key, value)
	}
	if secure {
		h.Set("Strict-Transport-Security", strictTransport)
	}
}

package problem

import (
	"encoding/json"
	"net/http"
)

// Write answers a request with an error, for handlers that huma does not know: middleware, and paths that are
// not there. It returns the Problem that was written, so that its Cause can be logged.
func Write(w http.ResponseWriter, _ *http.Request, err error) *Problem {
	p := Of(err)
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	h.Set("Content-Type", MediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p) // to a client that may be gone
	return p
}

// WriteStatus answers with a Problem of the type that stands for a status: identity.WriteProblem and the
// like.
func WriteStatus(w http.ResponseWriter, r *http.Request, status int, detail, field, remedy string) {
	Write(w, r, ForStatus(status, detail, remedy).About(field))
}

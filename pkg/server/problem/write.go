package problem

import (
	"encoding/json"
	"net/http"
)

// Write responds with an error, for handlers outside of huma: middleware and unknown paths. It returns the
// Problem that was written, so that the caller can log its Cause.
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
	_ = encoder.Encode(p) // the client can have disconnected
	return p
}

// WriteStatus responds with a Problem of the type of a status. It is an identity.WriteProblem.
func WriteStatus(w http.ResponseWriter, r *http.Request, status int, detail, field, remedy string) {
	Write(w, r, ForStatus(status, detail, remedy).About(field))
}

package problem

import (
	"encoding/json"
	"maps"
	"net/http"
)

// Write responds with an error, for handlers outside of huma: middleware and unknown paths. It returns the
// Problem that was written, so that the caller can log its Cause.
func Write(w http.ResponseWriter, _ *http.Request, err error) *Problem {
	p := Of(err)
	h := w.Header()
	maps.Copy(h, p.header)
	h.Set("Content-Type", MediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p) // the client can have disconnected
	return p
}

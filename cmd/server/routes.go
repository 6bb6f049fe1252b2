package main

import (
	"encoding/json"
	"net/http"
)

// routes of the REST API.
func (p *process) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"version": version}) // to a client that may be gone
	})
	return mux, nil
}

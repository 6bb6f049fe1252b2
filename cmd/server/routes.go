package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/shield"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
)

// routes returns the handler of all APIs.
func (p *process) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"version": version}) // the client can have disconnected
	})
	api, err := rest.New(mux, rest.Options{
		Version: version, Access: p.callers.access, Live: p.live, History: p.store, Namespaces: p.namespaces,
		Prices:   p.prices(),
		Currency: p.config.Currency, RecordOf: p.recordOf, Log: p.log.WithName("rest"), BeginStream: shield.Stream,
		BeginDecoding: shield.Decode,
		LongestStream: time.Duration(p.config.Limits.StreamSeconds) * time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the REST API: %w", err)
	}
	tfjob.New(tfjob.Options{
		Config: p.config.TFJob, Access: p.callers.access, History: p.store, NotFound: store.ErrNotFound,
		Namespace: p.namespaces.Get,
		UserKeys:  p.config.UserKeys, Version: version, Fail: fail(p.log.WithName("tfjob")),
	}).Register(mux)
	if p.callers.sessions != nil {
		p.callers.sessions.Register(mux)
	}
	if err := p.routeBoard(mux, api); err != nil {
		return nil, err
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.NotFound, "unknown path",
			"see /api/v1/openapi.json and docs/tfjob.md for the paths"))
	})
	return p.callers.handler(mux), nil
}

// recordOf returns the record of a job, with the GPU kinds that the cluster's recorder derives from the
// labels of nodes.
func (p *process) recordOf(cluster string, job *v1alpha1.TrainingJob) history.Record {
	for _, r := range p.recorders {
		if r.Cluster == cluster {
			return r.RecordOf(job)
		}
	}
	return history.Of(cluster, job, history.Options{UserKeys: p.config.UserKeys})
}

// prices returns the exact price of a GPU-hour by kind.
func (p *process) prices() map[string]*big.Rat {
	all := map[string]*big.Rat{}
	for _, price := range p.config.Prices {
		all[price.GPUKind] = price.PerGPUHour.Rat()
	}
	return all
}

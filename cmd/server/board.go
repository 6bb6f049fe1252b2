package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/session"
	"mlplatform.example.com/trainingjob-operator/pkg/server/shield"
)

// newPlacement follows the nodes of the clusters for the board's map; nil if the board is disabled.
func (p *process) newPlacement() (*placement.Clusters, error) {
	if !p.config.Board.Enabled || p.config.Listen.BindAddress == config.Off {
		return nil, nil
	}
	sources := map[string]placement.Sources{}
	for _, c := range p.clusters {
		of, err := placement.NewSources(c.rest)
		if err != nil {
			return nil, fmt.Errorf("following the nodes of cluster %s: %w", c.name, err)
		}
		sources[c.name] = of
	}
	return placement.New(placement.Options{
		Sources: sources, Log: p.log.WithName("placement"), Counting: placement.Counting{
			GPUs: framework.GPUs(p.config.GPUs), KindLabels: p.config.GPUKindLabels,
			TopologyLabels: p.config.Board.TopologyLabels,
		},
	}), nil
}

// routeBoard serves the web pages, if they are enabled, from the operations of the API.
func (p *process) routeBoard(mux *http.ServeMux, api *rest.Server) error {
	if !p.config.Board.Enabled {
		return nil
	}
	b, err := board.New(board.Options{
		Jobs: api, Reports: api, Changes: api, Placement: p.placement, Live: api, User: userOf, CSRF: csrfOf,
		BeginStream: shield.Stream, BeginDecoding: shield.Decode,
		UserKeys: p.config.UserKeys, GPU: formGPU(p.config.GPUs),
		Registry: p.registry, Log: p.log.WithName("board"),
		LongestStream: time.Duration(p.config.Limits.StreamSeconds) * time.Second,
	})
	if err != nil {
		return fmt.Errorf("creating the board: %w", err)
	}
	p.board = b
	mux.Handle(board.Root, b)
	mux.Handle("GET /{$}", http.RedirectHandler(board.Root, http.StatusFound))
	return nil
}

// formGPU is the GPU resource in the form for new jobs: NVIDIA's if it counts as a GPU, else the first
// configured name that is not a pattern; empty if there is none.
func formGPU(counted framework.GPUs) string {
	const common = "nvidia.com/gpu"
	if counted.Counts(common) {
		return common
	}
	i := slices.IndexFunc(counted, func(name string) bool { return !strings.ContainsAny(name, "*!") })
	if i < 0 {
		return ""
	}
	return counted[i]
}

// userOf returns the user of a request, who can log out if the request has a session.
func userOf(r *http.Request) board.User {
	id, _ := identity.FromContext(r.Context())
	u := board.User{Name: id.Name}
	if _, has := session.FromContext(r.Context()); has {
		u.Logout = session.LogoutPath
	}
	return u
}

// csrfOf returns the CSRF token of the session of a request; empty without one.
func csrfOf(r *http.Request) string {
	if s, has := session.FromContext(r.Context()); has {
		return s.CSRF()
	}
	return ""
}

// writeProblem writes errors for the packages without problems: as a page if the client requests a page.
func (p *process) writeProblem(
	w http.ResponseWriter, r *http.Request, status int, detail, field, remedy string,
) {
	found := problem.ForStatus(status, detail, remedy).About(field)
	if p.board != nil && strings.HasPrefix(r.URL.Path, board.Root) {
		p.board.Problem(w, r, found)
		return
	}
	problem.Write(w, r, found)
}

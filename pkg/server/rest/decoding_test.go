package rest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedyaml"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// TestBodiesWait: a body is decoded only after BeginDecoding has let it, and one with too many values never.
func TestBodiesWait(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert"))
	var begun []int
	left := 0
	var refuses error
	s.rest.BeginDecoding = func(_ context.Context, nodes int) (func(), error) {
		begun = append(begun, nodes)
		return func() { left++ }, refuses
	}
	const yaml, json = "Content-Type: application/yaml", "Content-Type: application/json"
	large := "[" + strings.Repeat("1,", boundedyaml.MaxNodes/2) + "1]"
	for name, r := range map[string]request{
		"YAML":          {method: http.MethodPost, path: teamA, headers: []string{yaml}},
		"JSON":          {method: http.MethodPost, path: teamA, headers: []string{json}},
		"a merge patch": {method: http.MethodPatch, path: teamA + "/bert", headers: []string{merge}},
		"a JSON patch":  {method: http.MethodPatch, path: teamA + "/bert", headers: []string{jsonP}},
	} {
		begun, left, refuses = nil, 0, nil
		r.body = "[]"
		if got := s.do(r); got.StatusCode >= 500 || len(begun) != 1 || begun[0] < 2 || left != 1 {
			t.Errorf("%s: %s, begun %d, left %d", name, got.Status, begun, left)
		}
		refuses = problem.New(problem.Unavailable, "too many", "wait")
		if got := s.do(r); got.StatusCode != http.StatusServiceUnavailable || left != 1 {
			t.Errorf("%s beside others: %s", name, got.Status)
		}
		begun, r.body = nil, large
		if got := s.do(r); got.StatusCode != http.StatusRequestEntityTooLarge || len(begun) > 0 {
			t.Errorf("%s with too many values: %s, begun %d", name, got.Status, begun)
		}
	}
}

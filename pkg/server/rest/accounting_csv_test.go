package rest

import (
	"net/http"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// TestAccountingCSVInProcess: it is what the API has over HTTP, for the same caller.
func TestAccountingCSVInProcess(t *testing.T) {
	s := newServer(t)
	s.past.usages = []store.Usage{{Queue: "=research", GPUKind: "H100", GPUSeconds: 3600}}
	in := &AccountingInput{ClusterPath: ClusterPath{"main"}, By: []store.Dimension{store.ByQueue}}
	got, err := s.rest.AccountingCSV(as(t.Context(), "ann"), in)
	want := s.do(request{path: "accounting?by=queue", headers: []string{"Accept: text/csv"}}).body
	if err != nil || string(got) != string(want) || len(got) == 0 {
		t.Errorf("got %q, %v; over HTTP it is %q", got, err, want)
	}
	in.Namespace = "A"
	if _, err := s.rest.AccountingCSV(as(t.Context(), "ann"), in); problem.Of(err).Status !=
		http.StatusUnprocessableEntity {
		t.Errorf("a namespace that cannot be: %v", err)
	}
}

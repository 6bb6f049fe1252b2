package historyview

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// TestQuery: the URL of a query parses to the same query.
func TestQuery(t *testing.T) {
	values, err := url.ParseQuery(
		"namespace=a&queue=q&user=u&name=n&phase=Failed&phase=Queued&deleted=true&continue=t")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseQuery(values)
	if err != nil {
		t.Fatal(err)
	}
	want := Query{
		Namespace: "a", Queue: "q", User: "u", Name: "n", Deleted: "true", Continue: "t",
		Phases: []v1alpha1.Phase{v1alpha1.PhaseQueued, v1alpha1.PhaseFailed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	in := got.Input("main")
	if in.Cluster != "main" || in.Namespace != "a" || in.Queue != "q" || in.User != "u" || in.Name != "n" ||
		in.Deleted != "true" || in.Continue != "t" || len(in.Phase) != 2 {
		t.Errorf("asks for %+v", in)
	}
	values, err = url.ParseQuery(strings.TrimPrefix(got.URL(), "?"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseQuery(values)
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestBadQuery(t *testing.T) {
	for name, tt := range map[string]struct{ query, field, remedy string }{
		"unknown":   {"colour=red", "query.colour", "leave it out"},
		"twice":     {"user=a&user=b", "query.user", "give it once"},
		"long":      {"user=" + strings.Repeat("a", 254), "query.user", "shorter"},
		"long page": {"continue=" + strings.Repeat("a", 1025), "query.continue", "shorter"},
		"phase":     {"phase=Unseen", "query.phase", "use some of Pending,Queued"},
		"deleted":   {"deleted=yes", "query.deleted", "true or false"},
	} {
		values, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParseQuery(values)
		if err == nil {
			t.Errorf("%s: it is accepted", name)
			continue
		}
		if p := problem.Of(err); p.Field != tt.field || !strings.Contains(p.Remedy, tt.remedy) {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

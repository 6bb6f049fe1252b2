package board

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

const mainHistory = mainMap + "/history"

func past(name string, deleted *time.Time) history.Job {
	return history.Job{
		Key: history.Key{Cluster: "main", UID: types.UID("uid-" + name)}, Namespace: "a", Name: name,
		Phase: v1alpha1.PhaseSucceeded, GPUs: 8, Created: now.Add(-time.Hour), Deleted: deleted,
	}
}

func newHistoryServer(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.api.past = []history.Job{past("bert", nil), past("gpt", &now)}
	return s
}

// TestHistory: an existing job links to its page, a deleted one to its record.
func TestHistory(t *testing.T) {
	s := newHistoryServer(t)
	got := s.get(mainHistory + "?namespace=a&user=ann&phase=Succeeded,Failed")
	contains(t, got, http.StatusOK, `<a href="/board/clusters/main/namespaces/a/jobs/bert">bert</a>`, "gpt",
		`href="?continue=older%26&amp;namespace=a&amp;phase=Succeeded%2CFailed&amp;user=ann" rel="next"`,
		`href="/board/clusters/main/history" aria-current="page">History</a>`)
	if in := s.api.historyAsked[0]; in.Cluster != "main" || in.Namespace != "a" || in.User != "ann" ||
		len(in.Phase) != 2 {
		t.Errorf("asked for %+v", in)
	}
	if strings.Contains(got.body, "jobs/gpt") {
		t.Error("a job that is deleted leads to whatever has its name now")
	}
	contains(t, got, http.StatusOK, `<a href="/board/clusters/main/history/uid-gpt">gpt</a>`)
	got = s.get(mainHistory + "?continue=older%26")
	contains(t, got, http.StatusOK, `<a href="?" rel="first">`)
	if strings.Contains(got.body, `rel="next"`) || s.api.historyAsked[1].Continue != "older&" {
		t.Errorf("asked for %+v", s.api.historyAsked[1])
	}
	contains(t, s.get(mainHistory+"?phase=Dancing"), http.StatusUnprocessableEntity, "query.phase",
		"there is no phase &#34;Dancing&#34;", "use some of Pending,")
	s.api.denied["ann list"] = true
	contains(t, s.get(mainHistory), http.StatusForbidden, "ann cannot list trainingjobs")
}

func TestHistoryUpdates(t *testing.T) {
	s := newHistoryServer(t)
	path := mainHistory + "?namespace=a"
	b := s.open("ann", path, s.digestOf(path))
	s.api.change(func() { s.api.past[0].Phase = v1alpha1.PhaseFailed })
	s.soon("the change is sent", func() bool { return len(b.patches()) == 1 })
	p := b.patches()[0]
	if p.All || len(p.Set) != 1 || !strings.Contains(p.Set["past-uid-bert"], "phase-failed") {
		t.Errorf("sent %+v", p)
	}
}

// TestRecordLinks: the links lead to records.
func TestRecordLinks(t *testing.T) {
	s := newHistoryServer(t)
	contains(t, s.get(mainHistory), http.StatusOK, `<a href="/board/clusters/main/history/uid-gpt">gpt</a>`)
	contains(t, s.get(mainAccounting+"?by=job"), http.StatusOK,
		`<a href="/board/clusters/main/history/uid-bert">`)
}

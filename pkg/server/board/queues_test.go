package board

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

const mainQueues = mainMap + "/queues"

func newQueuesServer(t *testing.T) *server {
	t.Helper()
	s := newServer(t, newJob("a", "bert", running("trains")))
	s.api.queues = []queues.Queue{{Kind: "Queue", Name: "research"}, {Kind: "Queue", Name: "other"}}
	return s
}

// TestQueues: the page shows the API's queues for the namespace of the query.
func TestQueues(t *testing.T) {
	s := newQueuesServer(t)
	got := s.get(mainQueues + "?namespace=a&q=res")
	contains(t, got, http.StatusOK, "research", `<a href="/board/clusters/main/namespaces/a/jobs/bert">bert</a>`,
		`href="/board/clusters/main/queues" aria-current="page">Queues</a>`)
	if !slices.Contains(s.api.asked, "queues of main/a") {
		t.Errorf("asked for %v", s.api.asked)
	}
	contains(t, s.get(mainQueues+"?busy=yes"), http.StatusUnprocessableEntity, "query.busy",
		"it is &#34;yes&#34;", "give 1, or leave it out")
	s.api.denied["ann list queues"] = true
	contains(t, s.get(mainQueues), http.StatusForbidden, "ann cannot list queues")
}

// TestQueuesUpdate: the page follows jobs at a lower rate, since each update sends requests to the cluster.
func TestQueuesUpdate(t *testing.T) {
	s := newQueuesServer(t)
	path := mainQueues + "?q=res"
	b := s.open("ann", path, s.digestOf(path))
	before := s.api.rendered()
	for range 10 {
		s.api.set("bert", running("trains on"))
		eventually(t, "the page is notified", s.api.isDrained)
		s.clock.Step(time.Second)
	}
	if n := s.api.rendered() - before; n > 3 { // the first, and one in 5 s
		t.Errorf("it was rendered %d times in 10 s", n)
	}
	s.api.change(func() { s.api.jobs[0] = newJob("a", "gpt", running("trains")) })
	s.soon("the change is sent", func() bool { return len(b.patches()) == 1 })
	if p := b.patches()[0]; p.All || len(p.Set) != 1 || !strings.Contains(fmt.Sprint(p.Set), ">gpt</a>") {
		t.Errorf("sent %+v", p)
	}
}

package board

import (
	"net/http"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

const mainMap = "/board/clusters/main"

// newMapServer has a node with ranks of bert and gpt, and a waiting job. The job of gpt is hidden.
func newMapServer(t *testing.T) *server {
	t.Helper()
	bert, gpt := newJob("a", "bert", running("trains")), newJob("b", "gpt", running("trains"))
	s := newServer(t, bert, newJob("a", "next", inPhase(v1alpha1.PhaseQueued)))
	s.api.nodes = []*placement.OnNode{onNode("node-1", bert, gpt)}
	return s
}

// TestMap: the map hides gangs of other namespaces, and nodes from users who may not list them.
func TestMap(t *testing.T) {
	s := newMapServer(t)
	s.api.denied["bob list nodes"] = true
	got := s.get(mainMap)
	contains(t, got, http.StatusOK, "node-1", `<a href="/board/clusters/main/namespaces/a/jobs/bert">bert</a>`,
		"2 GPUs of others", "<b>4</b> free", `href="/board/clusters/main/queues"`,
		`href="/board/clusters/main/jobs?phase=Unseen%2CPending%2CQueued"`,
		`href="/board/clusters/main" aria-current="page">Map</a>`)
	if strings.Contains(got.body, "gpt") {
		t.Errorf("it names a gang of another namespace: %s", got.body)
	}
	bobs := s.send(s.request(t.Context(), http.MethodGet, mainMap, "bob", nil))
	contains(t, bobs, http.StatusOK, "You may not list the nodes of this cluster")
	if strings.Contains(bobs.body, "node-1") {
		t.Errorf("it shows the nodes: %s", bobs.body)
	}
}

func TestMapOfNoReader(t *testing.T) {
	s := newMapServer(t)
	s.api.denied["ann list"] = true
	contains(t, s.get(mainMap), http.StatusForbidden, "ann cannot list trainingjobs")
	delete(s.api.denied, "ann list")
	contains(t, s.get("/board/clusters/none"), http.StatusNotFound, "there is no cluster none")
	contains(t, s.get(mainMap+"?view=globe"), http.StatusUnprocessableEntity, "query.view",
		"there is no view &#34;globe&#34;", "use map or table")
	s.api.away = problem.New(problem.BadGateway, "cluster main is away", "wait")
	contains(t, s.get(mainMap), http.StatusBadGateway, "cluster main is away")
}

// TestMapUpdates: a changed job wakes the map up, a new node appears without one, and the stream's own
// parameters are accepted.
func TestMapUpdates(t *testing.T) {
	s := newMapServer(t)
	path := mainMap + "?kind=H100"
	b := s.open("ann", path, s.digestOf(path))
	s.api.set("next", func(job *v1alpha1.TrainingJob) { job.Status.Phase = v1alpha1.PhaseRunning })
	s.soon("no gang waits", func() bool { return strings.Contains(b.element("map-waits-all"), "No gang waits") })
	if b.patches()[0].All {
		t.Error("the whole map was sent to a browser that showed it")
	}
	s.api.locked(func() { s.api.nodes = append(s.api.nodes, onNode("node-2")) })
	s.soon("the new node is there", b.shows("map-nodes", "node-2"))
	s.api.locked(func() { s.api.denied["ann list nodes"] = true })
	s.soon("the nodes are gone with the right to them", func() bool { return !b.shows("map-nodes", "node-")() })
}

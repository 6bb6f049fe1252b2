package board

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// placedServer has a job of two ranks on nodes.
func placedServer(t *testing.T) *server {
	t.Helper()
	bert := newJob("a", "bert", trains(500, "1.25"))
	for i, node := range []string{"node-1", "node-2"} {
		bert.Status.Workers = append(bert.Status.Workers, v1alpha1.WorkerStatus{
			Role: v1alpha1.RoleWorker, Index: int32(i), Phase: "Running", Node: node,
		})
	}
	s := newServer(t, bert)
	s.api.nodes = []*placement.OnNode{rankOnNode("node-1", bert, 0), rankOnNode("node-2", bert, 1)}
	s.api.nodes[1].Pods[0].Restarts = 3
	return s
}

// TestRanksOnNodes: the page shows what the server sees and the status does not have.
func TestRanksOnNodes(t *testing.T) {
	s := placedServer(t)
	contains(t, s.get(jobPage), http.StatusOK, "Worker 0: running on node-1", "running on node-2, 3 restarts",
		`id="rank-worker-1"`)
	s.api.locked(func() { s.api.nodes[0].Pods[0].Job.UID = "another" })
	contains(t, s.get(jobPage), http.StatusOK, "Worker 0: ended, result unknown, was on node-1")
}

// TestRankThatDies: its cell and the summary change, without a change of the job.
func TestRankThatDies(t *testing.T) {
	s := placedServer(t)
	s.board.Recheck = time.Hour // only the rank itself wakes the page up
	b := s.open("ann", jobPage, "")
	eventually(t, "the ranks are there", b.shows("ranks", "Worker 1: running on node-2"))
	gets := s.board.drawn.rendered.Load()
	s.api.place("a/bert", func() { s.api.nodes = s.api.nodes[:1] })
	s.soon("its cell says so", b.shows("ranks", "Worker 1: ended"))
	var sent []string
	for _, p := range b.patches()[1:] {
		if p.All || len(p.Order) > 0 {
			t.Errorf("sent are %+v", p)
		}
		sent = append(sent, slices.Sorted(maps.Keys(p.Set))...)
	}
	sent = slices.DeleteFunc(sent, func(id string) bool { return id == "job-attempts" || id == "job-cost" })
	if diff := cmp.Diff([]string{"job-ranks", "rank-worker-1"}, sent); diff != "" {
		t.Errorf("(-want +sent):\n%s", diff)
	}
	if n := s.board.drawn.rendered.Load() - gets; n > 1 { // a step of time
		t.Errorf("the sections were drawn %d times", n)
	}
}

// TestRanksAreGuarded: users who may neither list the pods nor see the gang on the map get the ranks of the
// status.
func TestRanksAreGuarded(t *testing.T) {
	for name, tt := range map[string]struct {
		denied []string
		sees   bool
	}{
		"all":                          {nil, true},
		"pods alone":                   {[]string{"ann list nodes", "ann list"}, true},
		"the map":                      {[]string{"ann list pods"}, true},
		"nodes alone":                  {[]string{"ann list pods", "ann list"}, false},
		"neither pods nor the map":     {[]string{"ann list pods", "ann list nodes"}, false},
		"nothing but the job's status": {[]string{"ann list pods", "ann list nodes", "ann list"}, false},
	} {
		s := placedServer(t)
		for _, d := range tt.denied {
			s.api.denied[d] = true
		}
		got := s.get(jobPage)
		contains(t, got, http.StatusOK, "Worker 1: running on node-2")
		if sees := strings.Contains(got.body, "3 restarts"); sees != tt.sees {
			t.Errorf("who may see %s sees restarts: %v", name, sees)
		}
		const note = "You may not list the pods of the namespace, so the ranks are"
		if says := strings.Contains(got.body, note); says == tt.sees {
			t.Errorf("user who may see %s, note shown: %v", name, says)
		}
	}
}

// TestReadersOfRanks: readers with different rights share no ranks.
func TestReadersOfRanks(t *testing.T) {
	s := placedServer(t)
	s.api.denied["bob list pods"], s.api.denied["bob list nodes"] = true, true
	for range 2 {
		contains(t, s.get(jobPage), http.StatusOK, "3 restarts")
		lacks(t, s.send(s.request(t.Context(), http.MethodGet, jobPage, "bob", nil)), "3 restarts")
	}
	if n := s.board.drawnRanks.rendered.Load(); n != 2 {
		t.Errorf("ranks were drawn %d times", n)
	}
}

// TestRanksUnknown: without the server's watches the page has a note and the ranks of the status.
func TestRanksUnknown(t *testing.T) {
	s := placedServer(t)
	s.api.podProblems = []placement.Problem{{Detail: "it is away", Remedy: "Wait a moment."}}
	got := s.get(jobPage)
	contains(t, got, http.StatusOK, "The server cannot follow the pods of the cluster now, so the ranks are",
		"Wait a moment.", "Worker 1: running on node-2")
	lacks(t, got, "3 restarts")
	contains(t, s.get("/board/clusters/main/namespaces/a/jobs/bert?uid=uid-bert"), http.StatusOK, "node-2")
}

package placement

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
)

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// failing is a source that fails while it has an error.
type failing struct {
	of  toolscache.ListerWatcherWithContext
	err atomic.Pointer[error]
}

func (f *failing) fail(err error) { f.err.Store(&err) }

func (f *failing) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if err := f.err.Load(); err != nil && *err != nil {
		return nil, *err
	}
	return f.of.ListWithContext(ctx, o)
}

func (f *failing) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if err := f.err.Load(); err != nil && *err != nil {
		return nil, *err
	}
	return f.of.WatchWithContext(ctx, o)
}

func (f *failing) List(o metav1.ListOptions) (runtime.Object, error) {
	return f.ListWithContext(context.Background(), o)
}

func (f *failing) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(context.Background(), o)
}

func (f *failing) IsWatchListSemanticsUnSupported() bool { return true }

// TestFollow: snapshots follow nodes and pods, while another cluster is unreachable and one lacks a right.
func TestFollow(t *testing.T) {
	nodes, pods := fcache.NewFakeControllerSource(), fcache.NewFakeControllerSource()
	nodes.Add(newNode("a"))
	pods.Add(newRank("team-a", "bert", "worker", 0, "a", 8))
	away := &failing{of: toolscache.ToListerWatcherWithContext(nodes)}
	denied := &failing{of: toolscache.ToListerWatcherWithContext(pods)}
	away.fail(errors.New("connection refused"))
	denied.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rule")))
	c := New(Options{Counting: counting(), Log: logr.Discard(), Sources: map[string]Sources{
		"here":   {Nodes: nodes, Pods: pods},
		"away":   {Nodes: away, Pods: away},
		"denied": {Nodes: nodes, Pods: denied},
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	snapshot := func(cluster string) *Snapshot {
		s, err := c.Snapshot(cluster)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	until(t, "all is seen", func() bool { return len(snapshot("here").Problems) == 0 })
	if diff := cmp.Diff(map[string]int{"a": 1}, podCounts(snapshot("here"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	nodes.Modify(newNode("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	nodes.Add(newNode("b"))
	pods.Delete(newRank("team-a", "bert", "worker", 0, "a", 8))
	pods.Add(newPod("team-b", "notebook", "b", 2))
	until(t, "the changes are seen", func() bool {
		s := snapshot("here")
		return cmp.Equal(map[string]int{"a": 0, "b": 1}, podCounts(s)) && s.Nodes[0].Cordoned
	})
	nodes.Delete(newNode("b"))
	until(t, "the node is deleted", func() bool {
		n := snapshot("here").Nodes
		return len(n) == 2 && !n[1].Exists
	})

	until(t, "the problems are known", func() bool {
		away := snapshot("away").Problems
		return len(away) == 2 && strings.Contains(away[0].Remedy, "log") && snapshot("denied").NodesKnown &&
			len(snapshot("denied").Problems) == 1
	})
	if s := snapshot("away"); s.NodesKnown || s.PodsKnown {
		t.Errorf("an unreachable cluster has %+v", s)
	}
	p := snapshot("denied").Problems[0]
	if !strings.Contains(p.Detail, "may not list and watch the pods") ||
		!strings.Contains(p.Detail, "is unknown who holds") || !strings.Contains(p.Remedy, "role.yaml") {
		t.Errorf("the problem is %+v", p)
	}
	denied.fail(nil)
	until(t, "the right is there", func() bool { return snapshot("denied").PodsKnown })
	if _, err := c.Snapshot("other"); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("of an unknown cluster: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestProblems: the last known state stays, with the problem that it is old.
func TestProblems(t *testing.T) {
	c := newCluster("here", counting())
	if p := c.view().Problems; len(p) != 2 || !strings.Contains(p[0].Detail, "still reading") {
		t.Errorf("at the beginning: %+v", p)
	}
	c.ofNodes.listed, c.ofPods.listed = true, true
	c.setNode(newNode("a"))
	c.record(&c.ofNodes, errors.New("connection refused"), logr.Discard())
	s := c.view()
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Detail, "last known state") || !s.NodesKnown ||
		len(s.Nodes) != 1 {
		t.Errorf("while it is unreachable: %+v", s)
	}
	c.record(&c.ofNodes, errors.New("connection refused"), logr.Discard())
	if c.view() != s {
		t.Error("the same error makes another snapshot")
	}
	c.record(&c.ofNodes, nil, logr.Discard())
	if p := c.view().Problems; len(p) > 0 {
		t.Errorf("when it is reachable again: %+v", p)
	}
}

// TestRequests: the server requests only nodes, and pods that are bound and have not ended.
func TestRequests(t *testing.T) {
	asked := make(chan *http.Request, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		http.Error(w, "no", http.StatusForbidden)
	}))
	t.Cleanup(api.Close)
	s, err := NewSources(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	for path, from := range map[string]toolscache.ListerWatcher{
		"/api/v1/nodes": s.Nodes, "/api/v1/pods": s.Pods,
	} {
		_, err := toolscache.ToListerWatcherWithContext(from).ListWithContext(t.Context(), metav1.ListOptions{})
		if troubleOf(err) != forbidden {
			t.Errorf("%s: %v", path, err)
		}
		r := <-asked
		if r.URL.Path != path || !strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf") {
			t.Errorf("%s asks %s for %s", path, r.URL.Path, r.Header.Get("Accept"))
		}
		want := ""
		if path == "/api/v1/pods" {
			want = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
		}
		if got := r.URL.Query().Get("fieldSelector"); got != want {
			t.Errorf("%s selects %q, want %q", path, got, want)
		}
	}
}

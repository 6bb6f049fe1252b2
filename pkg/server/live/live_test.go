package live

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// informers of a source, or of an unreachable cluster.
type informers struct {
	informer toolscache.SharedIndexInformer
	away     error
	asked    atomic.Int32
}

func (i *informers) GetInformer(
	context.Context, client.Object, ...cache.InformerGetOption,
) (cache.Informer, error) {
	i.asked.Add(1)
	return i.informer, i.away
}

func newSource(t *testing.T) (*fcache.FakeControllerSource, *informers) {
	source := fcache.NewFakeControllerSource()
	informer := toolscache.NewSharedIndexInformer(source, &v1alpha1.TrainingJob{}, 0, toolscache.Indexers{})
	go informer.RunWithContext(t.Context())
	return source, &informers{informer: informer}
}

func job(namespace, name, uid, version string) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(uid), ResourceVersion: version,
	}}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// run starts Clusters; "here" has a source.
func run(t *testing.T) (*Clusters, *fcache.FakeControllerSource) {
	source, here := newSource(t)
	c := New(map[string]Informers{"here": here}, logr.Discard())
	go func() { _ = c.Run(t.Context()) }()
	until(t, "it is synced", func() bool { return c.Synced("here") })
	return c, source
}

func text(e Event) string {
	return fmt.Sprintf("%s %s/%s %s", e.Change, e.Job.Namespace, e.Job.Name, e.Job.UID)
}

// next events of a subscription.
func next(t *testing.T, s *Subscription, n int) []string {
	t.Helper()
	var all []string
	for range n {
		select {
		case e, open := <-s.Events():
			if !open {
				t.Fatalf("the stream has ended after %v", all)
			}
			all = append(all, text(e))
		case <-time.After(time.Minute):
			t.Fatalf("nothing follows %v", all)
		}
	}
	return all
}

func subscribe(t *testing.T, c *Clusters, filter Filter, after string) *Subscription {
	t.Helper()
	s, err := c.Subscribe("here", filter, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestChanges: subscribers receive changes in order, and a view has the remaining jobs.
func TestChanges(t *testing.T) {
	c, source := run(t)
	all := subscribe(t, c, Filter{}, "")
	one := subscribe(t, c, Filter{Namespace: "b", Name: "y"}, "")
	source.Add(job("b", "y", "1", ""))
	source.Add(job("a", "x", "2", ""))
	source.Modify(job("b", "y", "1", ""))
	source.Delete(job("b", "y", "1", ""))
	source.Add(job("b", "y", "3", ""))
	want := []string{"added b/y 1", "added a/x 2", "modified b/y 1", "deleted b/y 1", "added b/y 3"}
	if diff := cmp.Diff(want, next(t, all, 5)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = []string{"added b/y 1", "modified b/y 1", "deleted b/y 1", "added b/y 3"}
	if diff := cmp.Diff(want, next(t, one, 4)); diff != "" {
		t.Errorf("of one job (-want +got):\n%s", diff)
	}
	v, err := c.View("here")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, j := range v.Jobs {
		names = append(names, j.Namespace+"/"+j.Name+" "+string(j.UID))
	}
	if diff := cmp.Diff([]string{"a/x 2", "b/y 3"}, names); diff != "" {
		t.Errorf("the view (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, v.Namespaces()); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

// TestResume: a subscriber misses nothing after a position of this process, and starts over after any other.
func TestResume(t *testing.T) {
	c, source := run(t)
	first := subscribe(t, c, Filter{}, "")
	source.Add(job("a", "x", "1", ""))
	next(t, first, 1)
	v, err := c.View("here")
	if err != nil {
		t.Fatal(err)
	}
	source.Add(job("a", "y", "2", ""))
	source.Add(job("b", "z", "3", ""))
	next(t, first, 2)
	for name, of := range map[string]struct {
		after  string
		filter Filter
		missed []string
		jobs   int
		reset  bool
	}{
		"after a view":       {after: v.Position, missed: []string{"added a/y 2", "added b/z 3"}},
		"of one namespace":   {after: v.Position, filter: Filter{Namespace: "b"}, missed: []string{"added b/z 3"}},
		"without a position": {reset: true, jobs: 3},
		"another process":    {after: "other-1", reset: true, jobs: 3},
		"the future":         {after: c.clusters["here"].process + "-99", reset: true, jobs: 3},
		"no position at all": {after: "7", filter: Filter{Namespace: "a"}, reset: true, jobs: 2},
	} {
		s := subscribe(t, c, of.filter, of.after)
		var missed []string
		if !s.Reset {
			for _, e := range missedBy(t, s) {
				missed = append(missed, text(e))
			}
		}
		if diff := cmp.Diff(of.missed, missed); diff != "" || s.Reset != of.reset || len(s.Jobs) != of.jobs {
			t.Errorf("%s: reset %v, %d jobs (-want +got):\n%s", name, s.Reset, len(s.Jobs), diff)
		}
	}
}

// missedBy are the events of a resumed subscription before it is synced.
func missedBy(t *testing.T, s *Subscription) (missed []Event) {
	t.Helper()
	for e := range s.Events() {
		if e.Change == Synced {
			return missed
		}
		missed = append(missed, e)
	}
	t.Fatalf("the stream has ended after %d events", len(missed))
	return nil
}

// TestManyChanges: only the latest changes are kept; each subscriber gets those after its own position.
func TestManyChanges(t *testing.T) {
	c := newCluster("here", nil)
	c.synced.Store(true)
	c.set(job("a", "x", "1", "0"))
	var positions []string
	for n := 1; n <= 2*kept+10; n++ {
		c.set(job("a", "x", "1", fmt.Sprint(n)))
		positions = append(positions, c.position())
	}
	for behind, known := range map[int]bool{0: true, 1: true, 100: true, kept: true, kept + 1: false} {
		s, err := c.subscribe(Filter{}, positions[len(positions)-1-behind])
		if err != nil {
			t.Fatal(err)
		}
		if s.Reset == known {
			t.Errorf("%d behind: reset %v", behind, s.Reset)
		}
		if known {
			missed := missedBy(t, s)
			if len(missed) != behind {
				t.Errorf("%d behind: %d missed", behind, len(missed))
			}
			for i, e := range missed {
				if want := positions[len(positions)-behind+i]; e.Position != want {
					t.Fatalf("%d behind: change %d is at %s, want %s", behind, i, e.Position, want)
				}
			}
		}
		s.Close()
	}
}

// TestSlowSubscriber: a subscriber that lags too far behind is dropped and can resume; others are not
// affected.
func TestSlowSubscriber(t *testing.T) {
	c := newCluster("here", nil)
	c.synced.Store(true)
	slow, err := c.subscribe(Filter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := c.subscribe(Filter{Namespace: "b"}, "")
	if err != nil {
		t.Fatal(err)
	}
	c.set(job("b", "y", "2", "1"))
	if e := <-elsewhere.Events(); text(e) != "added b/y 2" {
		t.Errorf("the other one got %s", text(e))
	}
	for n := range 2 * kept {
		c.set(job("a", "x", "1", fmt.Sprint(n)))
	}
	var got []Event
	for e := range slow.Events() {
		got = append(got, e)
	}
	if len(got) > 1 {
		t.Errorf("it got %d events before it was dropped", len(got))
	}
	slow.Close() // closing twice is allowed
	c.set(job("b", "y", "2", "2"))
	if e := <-elsewhere.Events(); text(e) != "modified b/y 2" {
		t.Errorf("the other one got %s", text(e))
	}
}

// large is a version of a job with a mebibyte of text.
func large(namespace, version string) *v1alpha1.TrainingJob {
	j := job(namespace, "large", namespace, version)
	j.Spec.Command = []string{strings.Repeat("x", 1<<20-len(version)) + version}
	return j
}

// TestLargeJobs: one job with many large versions takes little of the memory, and no changes from others. Its
// last version is sent.
func TestLargeJobs(t *testing.T) {
	c := newCluster("here", nil)
	c.synced.Store(true)
	start := c.position()
	var pinned []*Subscription // of readers that take nothing
	for range 20 {
		s, err := c.subscribe(Filter{}, start)
		if err != nil {
			t.Fatal(err)
		}
		pinned = append(pinned, s)
	}
	encode := func(job *v1alpha1.TrainingJob) ([]byte, error) {
		return []byte(strings.Clone(job.Spec.Command[0])), nil
	}
	reader, err := c.subscribe(Filter{Namespace: "a"}, "")
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	for n := range 1200 {
		c.set(large("a", fmt.Sprint(n)))
		if n%100 == 0 {
			c.set(job("b", fmt.Sprint("small-", n), fmt.Sprint("small-", n), "1"))
		}
		if e := <-reader.Events(); n%2 == 0 {
			if _, err := e.Encoded(encode); err != nil {
				t.Fatal(err)
			}
		}
	}
	grown := heap() - before
	t.Logf("1200 versions of 1 MiB take %d MiB", grown>>20)
	if grown > 4*keptBytesOfJob {
		t.Errorf("1200 versions of 1 MiB take %d MiB", grown>>20)
	}
	resumed, err := c.subscribe(Filter{}, start)
	if err != nil || resumed.Reset {
		t.Fatalf("reset %v, %v", resumed.Reset, err)
	}
	small, last := 0, ""
	for _, e := range missedBy(t, resumed) {
		if e.Job.Namespace == "b" {
			small++
		} else {
			last = e.Job.ResourceVersion
		}
	}
	if small != 12 || last != "1199" {
		t.Errorf("%d changes of others, and the last version is %s", small, last)
	}
	for _, s := range pinned {
		s.Close()
	}
}

// TestManyLargeJobs: versions of many jobs have a bound together.
func TestManyLargeJobs(t *testing.T) {
	c := newCluster("here", nil)
	c.synced.Store(true)
	before := heap()
	for n := range 400 {
		c.set(large(fmt.Sprintf("n%d", n%20), fmt.Sprint(n)))
	}
	grown := heap() - before
	t.Logf("400 versions of 20 jobs of 1 MiB take %d MiB", grown>>20)
	if grown > keptBytes+keptBytes/2 || c.bytes > keptBytes {
		t.Errorf("400 versions of 20 jobs of 1 MiB take %d MiB, counted %d", grown>>20, c.bytes>>20)
	}
	for n := range 20 {
		c.remove(large(fmt.Sprintf("n%d", n), fmt.Sprint(380+n)))
	}
	for n := range kept {
		c.set(job("a", "x", "1", fmt.Sprint(n)))
	}
	if len(c.ofJobs) != 1 || c.ofJobs["1"].bytes != c.bytes {
		t.Errorf("%d jobs are counted, %d bytes", len(c.ofJobs), c.bytes)
	}
}

// heap is the memory in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestSizeOf: the size of a job is about that of its texts.
func TestSizeOf(t *testing.T) {
	small, big := job("a", "x", "1", "1"), large("a", "1")
	big.Annotations = map[string]string{"k": strings.Repeat("y", 1<<20)}
	big.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{"Worker": {Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{
			Value: strings.Repeat("z", 1<<20),
		}}}}},
	}}}
	now := metav1.Now()
	big.DeletionTimestamp = &now
	got := sizeOf(reflect.ValueOf(big)) - sizeOf(reflect.ValueOf(small))
	if got < 3<<20 || got > 3<<20+10_000 {
		t.Errorf("3 MiB of text count %d bytes", got)
	}
}

// TestMissedDeletion: after a lost connection a name can belong to another job.
func TestMissedDeletion(t *testing.T) {
	c := newCluster("here", nil)
	c.synced.Store(true)
	c.set(job("a", "x", "1", "1"))
	s, err := c.subscribe(Filter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	c.set(job("a", "x", "1", "1")) // a resync
	c.handler().OnUpdate(job("a", "x", "1", "1"), job("a", "x", "2",
		"5")) // deleted and created again
	c.handler().OnDelete(toolscache.DeletedFinalStateUnknown{Obj: job("a", "x", "1", "1")}) // the former, late
	c.handler().OnDelete(toolscache.DeletedFinalStateUnknown{Obj: job("a", "x", "2", "5")})
	want := []string{"deleted a/x 1", "added a/x 2", "deleted a/x 2"}
	if diff := cmp.Diff(want, next(t, s, 3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnreachableCluster: the server retries it, reports that it is not synced, and serves the others.
func TestUnreachableCluster(t *testing.T) {
	source, here := newSource(t)
	away := &informers{away: errors.New("connection refused")}
	c := New(map[string]Informers{"here": here, "away": away}, logr.Discard())
	go func() { _ = c.Run(t.Context()) }()
	source.Add(job("a", "x", "1", ""))
	until(t, "the other is there", func() bool {
		v, err := c.View("here")
		return err == nil && len(v.Jobs) == 1
	})
	if _, err := c.View("away"); !errors.Is(err, ErrNotSynced) {
		t.Errorf("a view of it: %v", err)
	}
	if _, err := c.Subscribe("away", Filter{}, ""); !errors.Is(err, ErrNotSynced) {
		t.Errorf("a subscription to it: %v", err)
	}
	if _, err := c.View("unknown"); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("a view of an unknown one: %v", err)
	}
	if _, err := c.Subscribe("unknown", Filter{}, ""); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("a subscription to an unknown one: %v", err)
	}
	until(t, "it is tried again", func() bool { return away.asked.Load() > 2 })
}

// TestEnd: subscriptions end with the process.
func TestEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, here := newSource(t)
	c := New(map[string]Informers{"here": here}, logr.Discard())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	until(t, "it is synced", func() bool { return c.Synced("here") })
	before := subscribe(t, c, Filter{}, "")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, open := <-before.Events(); open {
		t.Error("a subscription does not end")
	}
	if _, open := <-subscribe(t, c, Filter{}, "").Events(); open {
		t.Error("a new one does")
	}
}

// TestEncoded: an event is encoded once for all subscribers.
func TestEncoded(t *testing.T) {
	c := newCluster("here", nil)
	c.synced.Store(true)
	a, _ := c.subscribe(Filter{}, "")
	b, _ := c.subscribe(Filter{}, "")
	c.set(job("a", "x", "1", "1"))
	calls := 0
	encode := func(*v1alpha1.TrainingJob) ([]byte, error) { calls++; return []byte("{}"), nil }
	for _, s := range []*Subscription{a, b} {
		if data, err := (<-s.Events()).Encoded(encode); string(data) != "{}" || err != nil {
			t.Errorf("%s, %v", data, err)
		}
	}
	if calls != 1 {
		t.Errorf("it is encoded %d times", calls)
	}
}

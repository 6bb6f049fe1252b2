package recorder

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// TestEveryVersionIsWritten: what each version contains is in the record, also what came while the store was
// away and no later version says any more.
func TestEveryVersionIsWritten(t *testing.T) {
	f := newFixture(t).start().synced()
	f.store.set(func(s *fakeStore) { s.away = true })
	f.cache.jobSource.Add(job("bert", 1))
	for step := int64(2); step <= 30; step++ {
		f.cache.jobSource.Modify(job("bert", step))
	}
	f.eventually("something fails", func() bool { return counter(f.metrics.failures) > 0 })
	f.eventually("all is seen", func() bool {
		j := &v1alpha1.TrainingJob{}
		err := f.cache.Get(t.Context(), types.NamespacedName{Namespace: "team-a", Name: "bert"}, j)
		return err == nil && j.Status.Checkpoint.Latest.Step == 30
	})
	if f.Pending() != 1 || f.lag() <= 0 {
		t.Errorf("%d jobs are pending since %v s", f.Pending(), f.lag())
	}
	f.store.set(func(s *fakeStore) { s.away = false })
	f.eventually("all is written", func() bool { return len(steps(f.store.record("bert-uid"))) == 30 })
	f.eventually("nothing is pending", func() bool { return f.Pending() == 0 && f.lag() == 0 })
}

// TestLittleMemory: where the versions do not fit, the latest of a live job is written, and that a job was
// deleted is never lost.
func TestLittleMemory(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.KeptBytes = 2000 }).start().synced()
	f.store.set(func(s *fakeStore) { s.away = true })
	const jobs = 50
	name := func(i int) string { return fmt.Sprintf("job-%d", i) }
	for i := range jobs {
		f.cache.jobSource.Add(job(name(i), 1))
		f.cache.jobSource.Modify(job(name(i), 2))
	}
	for i := range jobs / 2 {
		f.cache.jobSource.Delete(job(name(i), 2))
	}
	f.eventually("all is pending", func() bool {
		return f.Pending() == jobs && len(f.cache.jobs.GetStore().ListKeys()) == jobs/2 &&
			counter(f.metrics.dropped.WithLabelValues(shedDeleted)) > 0
	})
	if got := f.pending.bytes; got > f.KeptBytes+jobs/2*1000 {
		t.Errorf("%d bytes are kept", got)
	}
	f.store.set(func(s *fakeStore) { s.away = false })
	f.eventually("all is written", func() bool { return f.Pending() == 0 })
	for i := range jobs {
		r := f.store.record(job(name(i), 2).UID)
		if deleted := r.Job.Deleted != nil; deleted != (i < jobs/2) {
			t.Errorf("%s: deleted %v", name(i), r.Job.Deleted)
		}
		if s := steps(r); i >= jobs/2 && (len(s) == 0 || s[len(s)-1] != 2) {
			t.Errorf("%s: steps %v", name(i), s)
		}
	}
	if counter(f.metrics.dropped.WithLabelValues(shedVersions)) == 0 {
		t.Error("what is given up is not counted")
	}
}

// TestDeletions: the record has the time of a job's deletion as exactly as it is known.
func TestDeletions(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	marked := metav1.NewTime(now.Add(-time.Hour))
	held := func(j *v1alpha1.TrainingJob) {
		j.DeletionTimestamp, j.Finalizers = &marked, []string{"example.com/other"}
	}
	for name, tc := range map[string]struct {
		reason          string
		play            func(*fixture)
		deleted, before *time.Time
	}{
		"seen": {"the event is the deletion", func(f *fixture) {
			f.cache.jobSource.Delete(job("bert", 1))
		}, &now, nil},
		"marked": {"a deletion cannot be taken back", func(f *fixture) {
			f.cache.jobSource.Modify(job("bert", 1, held))
		}, &marked.Time, nil},
		"marked and seen": {"the API server's time counts", func(f *fixture) {
			f.cache.jobSource.Modify(job("bert", 1, held))
			f.cache.jobSource.Delete(job("bert", 1, held))
		}, &marked.Time, nil},
		"missed": {"a relist tells only that it has gone", func(f *fixture) {
			f.cache.jobSource.DeleteDropWatch(job("bert", 1))
			f.cache.jobSource.ResetWatch()
		}, nil, &now},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Clock = fixedClock{now: now} })
			f.cache.jobSource.Add(job("bert", 1))
			f.start().synced()
			f.eventually("it is recorded", func() bool { return f.store.record("bert-uid").Job.UID != "" })
			tc.play(f)
			f.eventually("its end is recorded", func() bool {
				j := f.store.record("bert-uid").Job
				return j.Deleted != nil || j.DeletedBefore != nil
			})
			f.eventually("nothing is pending", func() bool { return f.Pending() == 0 })
			got := f.store.record("bert-uid").Job
			if diff := cmp.Diff([]*time.Time{tc.deleted, tc.before},
				[]*time.Time{got.Deleted, got.DeletedBefore}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// fixedClock tells one time; its timers are the machine's.
type fixedClock struct {
	clock.RealClock
	now time.Time
}

func (c fixedClock) Now() time.Time { return c.now }

// TestGoneWhileAway: at the start, what the store has and the cluster has not is recorded as deleted, but
// never what the API server does not confirm.
func TestGoneWhileAway(t *testing.T) {
	f := newFixture(t)
	known := func(name string) {
		record := f.RecordOf(job(name, 1))
		if err := f.store.Record(t.Context(), []history.Record{record}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"live", "gone", "recreated", "young"} {
		known(name)
	}
	f.cache.jobSource.Add(job("live", 2))
	f.api.jobs = map[string]types.UID{"live": "live-uid", "recreated": "another-uid", "young": "young-uid"}
	f.api.broken = errors.New("the server is currently unable to handle the request")
	before := f.now()
	f.start()
	f.eventually("jobs are recorded, and the API server is asked again", func() bool {
		return len(steps(f.store.record("live-uid"))) == 2 && f.api.asked() > 3 && f.Pending() == 0
	})
	if r := f.store.record("gone-uid"); r.Job.DeletedBefore != nil || f.Synced() {
		t.Errorf("the API server was not asked: %v, synced %t", r.Job.DeletedBefore, f.Synced())
	}
	f.api.set(func(c *fakeClient) { c.broken = nil })
	f.synced()
	f.eventually("nothing is pending", func() bool { return f.Pending() == 0 })
	for name, want := range map[string]struct {
		reason string
		gone   bool
	}{
		"live":      {"it is there", false},
		"gone":      {"there is none of the name", true},
		"recreated": {"another job has its name", true},
		"young":     {"another replica has seen it, and this one's cache has not", false},
	} {
		r := f.store.record(types.UID(name + "-uid"))
		at := r.Job.DeletedBefore
		if (at != nil) != want.gone || r.Job.Deleted != nil || at != nil && at.Before(before) {
			t.Errorf("%s: %s: deleted before %v", name, want.reason, at)
		}
	}
}

// rejectsVersion1 rejects records of the first version of hostile jobs.
func rejectsVersion1(r history.Record) bool {
	return strings.HasPrefix(r.Job.Name, "hostile") && r.Job.ResourceVersion == "1"
}

// hostile is a job whose first version the store rejects.
func hostile(n int, change ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	return job(fmt.Sprintf("hostile-%d", n), 1, append([]func(*v1alpha1.TrainingJob){
		func(j *v1alpha1.TrainingJob) { j.Namespace, j.ResourceVersion = "mallory", "1" },
	}, change...)...)
}

// TestRejectedRecords: the record of another namespace is written while a thousand rejected
// ones wait, and these are counted.
func TestRejectedRecords(t *testing.T) {
	f := newFixture(t)
	f.store.rejects = rejectsVersion1
	const n = 1000
	for i := range n {
		f.saw(hostile(i))
	}
	f.saw(job("bert", 1))
	f.start().synced()
	f.eventually("all are written or rejected", func() bool { return f.Pending() == 0 })
	if f.store.record("bert-uid").Job.UID == "" || f.store.wrote["bert-uid"] > 10 {
		t.Errorf("the other record is written by write %d of %d", f.store.wrote["bert-uid"], f.store.calls)
	}
	if got := counter(f.metrics.rejected); got != n {
		t.Errorf("%v records are counted as rejected, want %d", got, n)
	}
	f.saw(hostile(1, func(j *v1alpha1.TrainingJob) { j.ResourceVersion = "2" }))
	f.eventually("the next version is written", func() bool {
		return f.store.record("hostile-1-uid").Job.ResourceVersion == "2"
	})
}

// TestRejectedDeletion: a deleted job whose record is rejected is still recorded as deleted, and does not
// keep its finalizer.
func TestRejectedDeletion(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Finalizer = true })
	f.store.rejects = rejectsVersion1
	at := metav1.NewTime(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	f.start().synced()
	f.cache.jobSource.Add(hostile(1, func(j *v1alpha1.TrainingJob) {
		j.DeletionTimestamp, j.Finalizers = &at, []string{Finalizer}
	}))
	f.eventually("the finalizer is removed", func() bool { return len(f.api.written()) > 0 })
	if got := f.store.record("hostile-1-uid").Job.Deleted; got == nil || !got.Equal(at.Time) {
		t.Errorf("deleted at %v", got)
	}
}

// TestEnd: what is pending when the server stops is written.
func TestEnd(t *testing.T) {
	f := newFixture(t).start().synced()
	f.store.set(func(s *fakeStore) { s.away = true })
	f.cache.jobSource.Add(job("bert", 1))
	f.eventually("it fails", func() bool { return counter(f.metrics.failures) > 3 })
	f.store.set(func(s *fakeStore) { s.away = false })
	f.stop()
	if f.store.record("bert-uid").Job.UID == "" {
		t.Error("it was lost")
	}
}

// TestResyncIsSilent: what was seen already is not written again.
func TestResyncIsSilent(t *testing.T) {
	f := newFixture(t)
	h := f.handler()
	old := job("bert", 1, func(j *v1alpha1.TrainingJob) { j.ResourceVersion = "7" })
	h.OnUpdate(old, old.DeepCopy())
	if f.Pending() != 0 {
		t.Error("a resync is pending")
	}
	h.OnUpdate(old, job("bert", 2, func(j *v1alpha1.TrainingJob) { j.ResourceVersion = "8" }))
	if f.Pending() != 1 {
		t.Error("a change is not")
	}
}

// TestGPUKind: of the nodes that a job is on, most decide.
func TestGPUKind(t *testing.T) {
	const key, other = "nvidia.com/gpu.product", "example.com/product"
	f := newFixture(t, func(o *Options) { o.GPUKindLabels = []string{key, other} })
	for name, labels := range map[string]map[string]string{
		"a1": {key: "A100"}, "a2": {key: "A100", other: "B"}, "h1": {key: "H100"}, "x1": {other: "X"}, "cpu": nil,
	} {
		node := nodeMetadata()
		node.Name, node.Labels = name, labels
		f.cache.nodeSource.Add(node)
	}
	f.start().synced()
	for name, tc := range map[string]struct {
		nodes []string
		want  string
	}{
		"waiting":            {nil, ""},
		"one":                {[]string{"h1"}, "H100"},
		"the other label":    {[]string{"x1"}, "X"},
		"the first label":    {[]string{"a2"}, "A100"},
		"most":               {[]string{"h1", "a1", "a2"}, "A100"},
		"as many":            {[]string{"h1", "a1"}, "A100"},
		"no label":           {[]string{"cpu"}, ""},
		"a node that is new": {[]string{"unknown", "h1"}, "H100"},
	} {
		j := job("bert", 1, func(j *v1alpha1.TrainingJob) { j.Status.AllocatedNodes = tc.nodes })
		if got := f.product(j); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRecordOfBeforeRun: who asks for a record does not wait for nodes that may never be read.
func TestRecordOfBeforeRun(t *testing.T) {
	f := newFixture(t)
	j := job("bert", 1, func(j *v1alpha1.TrainingJob) {
		j.Status.AllocatedNodes, j.Status.GPUs = []string{"h1"}, 8
		j.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	})
	f.Cache = nil // it is not asked
	if got := f.RecordOf(j).Job.GPUKind; got != "nvidia.com/gpu" {
		t.Errorf("kind %q", got)
	}
}

// TestGPUKindOfResources: where no node says what it has, the resource does.
func TestGPUKindOfResources(t *testing.T) {
	list := func(pairs ...string) corev1.ResourceRequirements {
		all := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			all[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return corev1.ResourceRequirements{Requests: all}
	}
	simple := func(pairs ...string) v1alpha1.TrainingJobSpec {
		return v1alpha1.TrainingJobSpec{Resources: list(pairs...)}
	}
	role := func(replicas int32, r corev1.ResourceRequirements) v1alpha1.ReplicaSpec {
		return v1alpha1.ReplicaSpec{Replicas: &replicas, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: r}}},
		}}
	}
	for name, tc := range map[string]struct {
		spec    v1alpha1.TrainingJobSpec
		counted framework.GPUs
		want    string
	}{
		"none":      {simple("cpu", "2"), nil, ""},
		"simple":    {simple("cpu", "2", "nvidia.com/gpu", "1"), nil, "nvidia.com/gpu"},
		"not a GPU": {simple("example.com/fpga", "1"), nil, ""},
		"configured": {
			simple("example.com/fpga", "1"), framework.GPUs{"example.com/fpga"}, "example.com/fpga",
		},
		"most of all ranks": {v1alpha1.TrainingJobSpec{ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			"Master": role(1, list("amd.com/gpu", "8")), "Worker": role(3, list("nvidia.com/gpu", "4")),
		}}, nil, "nvidia.com/gpu"},
		"as many": {simple("nvidia.com/gpu", "1", "amd.com/gpu", "1"), nil, "amd.com/gpu"},
	} {
		j := job("bert", 1, func(j *v1alpha1.TrainingJob) { j.Spec = tc.spec })
		if got := resourceOf(j, tc.counted); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestNodesAreTrimmed: what changes every few seconds is not kept.
func TestNodesAreTrimmed(t *testing.T) {
	node := nodeMetadata()
	node.Name, node.Labels = "a", map[string]string{"k": "v"}
	want := node.DeepCopy()
	node.Annotations = map[string]string{"big": "one"}
	node.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	got, err := CacheOptions().DefaultTransform(node)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

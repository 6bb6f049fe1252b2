package recorder

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var deletedAt = metav1.NewTime(time.Date(2026, 11, 25, 11, 0, 0, 0, time.UTC))

func deleting(finalizers ...string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.DeletionTimestamp, j.Finalizers = &deletedAt, finalizers }
}

func TestActionFor(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		job     metav1.ObjectMeta
		enabled bool
		written string
		want    action
	}{
		"a new job":          {"it is to be kept", metav1.ObjectMeta{}, true, "", add},
		"a job that has it":  {"done", metav1.ObjectMeta{Finalizers: []string{"a", Finalizer}}, true, "", leave},
		"a deleted one":      {"too late", metav1.ObjectMeta{DeletionTimestamp: &deletedAt}, true, "", leave},
		"turned off":         {"", metav1.ObjectMeta{Finalizers: []string{Finalizer}}, false, "", remove},
		"turned off, not in": {"", metav1.ObjectMeta{Finalizers: []string{"a"}}, false, "", leave},
		"deleted, not written": {"the history would be lost", metav1.ObjectMeta{
			DeletionTimestamp: &deletedAt, Finalizers: []string{Finalizer}, ResourceVersion: "7",
		}, true, "", leave},
		"deleted, an older version written": {"what has changed since would be lost", metav1.ObjectMeta{
			DeletionTimestamp: &deletedAt, Finalizers: []string{Finalizer}, ResourceVersion: "7",
		}, true, "6", leave},
		"deleted and written": {"it is in the history", metav1.ObjectMeta{
			DeletionTimestamp: &deletedAt, Finalizers: []string{Finalizer}, ResourceVersion: "7",
		}, true, "7", remove},
		"deleted, not written, turned off": {"an admin who disables it wants deletions to complete",
			metav1.ObjectMeta{
				DeletionTimestamp: &deletedAt, Finalizers: []string{Finalizer}, ResourceVersion: "7",
			}, false, "", remove},
	} {
		if got := actionFor(&tc.job, tc.enabled, tc.written); got != tc.want {
			t.Errorf("%s: %q, want %q: %s", name, got, tc.want, tc.reason)
		}
	}
}

// TestFinalizerIsKeptUntilWritten: it is added by its UID, stays while the store is away, and is removed from
// just the version that is written, with those of others left in place.
func TestFinalizerIsKeptUntilWritten(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Finalizer = true })
	f.cache.jobSource.Add(job("bert", 1))
	f.start().synced()
	wants := []string{"apply bert bert-uid [mlplatform.example.com/history]"}
	f.eventually("it is added", func() bool { return slices.Equal(f.api.written(), wants) })

	f.store.set(func(s *fakeStore) { s.away = true })
	f.cache.jobSource.Modify(job("bert", 2, deleting("a", Finalizer, "b"))) // version 2 of the source
	f.eventually("the write fails", func() bool { return counter(f.metrics.failures) > 0 })
	if diff := cmp.Diff(wants, f.api.written()); diff != "" {
		t.Errorf("while the store is away (-want +got):\n%s", diff)
	}
	f.store.set(func(s *fakeStore) { s.away = false })
	wants = append(wants,
		`patch bert {"metadata":{"finalizers":["a","b"],"resourceVersion":"2","uid":"bert-uid"}}`)
	f.eventually("it is removed", func() bool { return len(f.api.written()) == 2 })
	if diff := cmp.Diff(wants, f.api.written()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := f.store.record("bert-uid").Job.Deleted; at == nil || !at.Equal(deletedAt.Time) {
		t.Errorf("deleted at %v", at)
	}
	if n := counter(f.metrics.finalizers.WithLabelValues(string(remove))); n != 1 {
		t.Errorf("%v are counted", n)
	}
}

// TestFinalizerIsTakenBack: once it is turned off it goes, whatever the store does.
func TestFinalizerIsTakenBack(t *testing.T) {
	f := newFixture(t)
	f.store.away = true
	f.cache.jobSource.Add(job("bert", 1, func(j *v1alpha1.TrainingJob) { j.Finalizers = []string{Finalizer} }))
	f.start()
	wants := []string{`patch bert {"metadata":{"finalizers":[],"resourceVersion":"1","uid":"bert-uid"}}`}
	f.eventually("it is removed", func() bool { return len(f.api.written()) > 0 })
	if diff := cmp.Diff(wants, f.api.written()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
)

// TestRestartCountsNoHistory: a new operator does not count again what a former one has counted, however
// often it reconciles. It counts new changes once.
func TestRestartCountsNoHistory(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.wants("created", created...)
	f.sync()
	f.setPods(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning })
	f.sync()
	f.clock.Step(30 * time.Second)
	f.wants("running", "patch TrainingJob/status bert", "event GangRunning")
	want := map[string]float64{
		"created_total[namespace=default]":                    1,
		"placement_seconds[namespace=default queue=]":         30,
		"queued_seconds[namespace=default priority= queue=]":  30,
		"transitions_total[phase=Queued reason=Queued]":       1,
		"transitions_total[phase=Running reason=GangRunning]": 1,
	}
	if diff := cmp.Diff(want, jobtest.Counted(t, f.registry)); diff != "" {
		t.Fatalf("the first process (-want +got):\n%s", diff)
	}

	f.newProcess()
	for range 5 {
		f.clock.Step(10 * time.Second)
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.sync()
	}
	if got := jobtest.Counted(t, f.registry); len(got) > 0 {
		t.Errorf("a new process has counted %v", got)
	}
	f.setPods(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	f.sync()
	for range 3 {
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.sync()
	}
	if got := jobtest.Counted(t, f.registry)["completed_total[namespace=default]"]; got != 1 {
		t.Errorf("the end counts %v times", got)
	}
	f.newProcess()
	if _, _, err := f.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := jobtest.Counted(t, f.registry); len(got) > 0 {
		t.Errorf("a third process has counted %v", got)
	}
}

// newProcess replaces the Reconciler and its metrics by those of another process.
func (f *fixture) newProcess() {
	f.t.Helper()
	f.registry = prometheus.NewRegistry()
	metrics, err := meter.New(f.registry)
	if err != nil {
		f.t.Fatal(err)
	}
	f.dependencies.metrics, f.delivered = metrics, map[types.UID]client.Object{}
	f.restart()
	f.sync()
}

// TestErrorsAreCountedAlsoWhereTheyAreSilent: conflicts and rejections are not logged, so this is where one
// sees them.
func TestErrorsAreCountedAlsoWhereTheyAreSilent(t *testing.T) {
	f := newFixture(t, bert(2))
	f.reject = func(string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "trainingjobs"}, "bert", errors.New("changed"))
	}
	if _, _, err := f.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.reject = func(string) error { return apierrors.NewTimeoutError("slow", 1) }
	if _, _, err := f.reconcile(t.Context()); err == nil {
		t.Fatal("a timeout is returned")
	}
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch family.GetName() {
			case "trainingjob_operator_errors_total":
				got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			case "trainingjob_operator_reconcile_duration_seconds":
				got["reconciles"] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	want := map[string]float64{
		"conflict": 1, "stale": 0, "rejected": 0, "terminating": 0, "api": 1, "internal": 0, "reconciles": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

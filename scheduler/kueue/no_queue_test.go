package kueue_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

func noQueue(g *scheduler.Gang) { g.Queue, g.JobLabels = "", nil }

// TestManageJobsWithoutQueueName: with this setting a job without a queue waits for one, as Kueue's own jobs
// do.
func TestManageJobsWithoutQueueName(t *testing.T) {
	b := kueue.New(kueue.Options{ManageJobsWithoutQueueName: true})
	if errs := b.Validate(gang(noQueue)); len(errs) > 0 {
		t.Errorf("refused: %v", errs)
	}
	objs, err := b.Objects(gang(noQueue))
	if err != nil || objs[0].(*kueuev1beta2.Workload).Spec.QueueName != "" {
		t.Errorf("want a Workload without a queue, got %v, %v", objs, err)
	}
	for reason, have := range map[string][]client.Object{"before": nil, "with its Workload": objs} {
		v := b.Read(gang(noQueue), have)
		if v.Admission != scheduler.Hold || v.Reason != scheduler.ReasonQueueNotFound ||
			!strings.Contains(v.NextStep, kueue.QueueLabel) {
			t.Errorf("%s: got %+v", reason, v)
		}
	}
	mismatch := func(g *scheduler.Gang) { g.JobLabels = nil }
	if errs := b.Validate(gang(mismatch)); len(errs) != 1 {
		t.Errorf("a queue that is not the label's must be refused, got %v", errs)
	}
	if errs := kueue.New(kueue.Options{}).Validate(gang(noQueue)); len(errs) != 1 {
		t.Errorf("without the setting it must be refused, got %v", errs)
	}
}

// TestDeletedWorkloadWithoutQuotaGoesAtOnce: pods use no quota of such a Workload, so the one from before the
// job named its queue can be deleted although the job runs.
func TestDeletedWorkloadWithoutQuotaGoesAtOnce(t *testing.T) {
	objs, err := kueue.New(kueue.Options{}).Objects(gang())
	if err != nil {
		t.Fatal(err)
	}
	wl := objs[0].(*kueuev1beta2.Workload)
	wl.DeletionTimestamp = &now
	running := scheduler.GangStatus{PodsLeft: 4, Now: now}
	b := kueue.New(kueue.Options{})
	if got := describe(b.SyncStatus(gang(hasPods), running, objs)); got != "let go" {
		t.Errorf("wrote %q, want it released", got)
	}
	reserved(wl, 1)
	if got := describe(b.SyncStatus(gang(hasPods), running, objs)); got != "" {
		t.Errorf("wrote %q although the pods use its quota", got)
	}
}

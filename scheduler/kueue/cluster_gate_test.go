//go:build cluster

package kueue_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// half of the queue's quota.
func half(g *scheduler.Gang) { g.Roles[0].Replicas, g.Roles[0].MinAvailable, g.MinAvailable = 2, 2, 2 }

func gated(g *scheduler.Gang) {
	half(g)
	g.JobLabels[kueue.PriorityClassLabel] = "production"
	g.PreemptionGate = true
}

// contest of the job's gang, without free amounts.
func (p *testJob) contest() scheduler.Contest {
	p.t.Helper()
	queues := &kueuev1beta2.ClusterQueueList{}
	p.must(p.t, p.client.List(p.t.Context(), queues))
	locals := &kueuev1beta2.LocalQueueList{}
	p.must(p.t, p.client.List(p.t.Context(), locals))
	var state scheduler.ClusterState
	kinds := p.backend.StateKinds()
	state.Objects = map[schema.GroupVersionKind]scheduler.Objects{kinds[0]: nil, kinds[1]: nil}
	for i := range locals.Items {
		state.Objects[kinds[0]] = append(state.Objects[kinds[0]], &locals.Items[i])
	}
	for i := range queues.Items {
		state.Objects[kinds[1]] = append(state.Objects[kinds[1]], &queues.Items[i])
	}
	requests := map[string]scheduler.Amounts{}
	for _, role := range p.gang.Roles {
		requests[role.Name] = role.Requests()
	}
	c, known := p.backend.Contest(p.owned(), requests, state)
	if !known {
		p.t.Fatalf("the contest of %s is unknown", p.gang.Name)
	}
	return c
}

func (p *testJob) untilGate(want scheduler.Gate) {
	p.t.Helper()
	p.eventually("its gate is "+string(want), func() bool {
		p.step()
		return p.contest().Gate == want
	})
}

// twoRun starts two gangs of equal priority that use up the quota, the first one older by Kueue's clock.
func twoRun(s *testCluster) (older, younger *testJob) {
	s.t.Helper()
	older = s.job("older", half)
	older.until("let in", scheduler.Go)
	older.ready()
	reserved := older.contest().Reserved
	older.eventually("of the next second", func() bool { return time.Since(reserved.Time) > 2*time.Second })
	younger = s.job("younger", half)
	younger.until("let in", scheduler.Go)
	younger.ready()
	return older, younger
}

// TestPreemptionGate: behind a closed gate Kueue preempts no gang and reports that it would. With an open
// gate it preempts the gang that is not spared, although the other one would be first.
func TestPreemptionGate(t *testing.T) {
	s := newTestCluster(t)
	older, younger := twoRun(s)
	urgent := s.job("urgent", gated)
	v := urgent.until("Kueue would preempt", scheduler.Hold, scheduler.ReasonQuotaExceeded)
	urgent.untilGate(scheduler.GateBlocks)
	t.Logf("it says: %s; next: %s", v.Message, v.NextStep)
	if c := urgent.contest(); c.Value != 500 || len(c.Needs) != 1 || c.Needs[0].Requests["nvidia.com/gpu"] != 4 {
		t.Errorf("its contest is %+v", c)
	}
	urgent.eventually("nothing is left of the quota", func() bool { // the queue's status comes later
		return urgent.contest().Free["h100"]["nvidia.com/gpu"] == 0
	})
	for _, p := range []*testJob{older, younger} {
		if c := p.contest(); c.Preempted || c.Queue != "gpus" || c.Holds["h100"]["nvidia.com/gpu"] != 4 {
			t.Errorf("%s has the contest %+v", p.gang.Name, c)
		}
	}

	younger.status.Spare = new(bool)
	*younger.status.Spare = true
	younger.quiet()
	if !younger.contest().Spared {
		t.Fatal("it has no mark")
	}
	urgent.status.MayPreempt = true
	urgent.quiet()
	older.until("preempted", scheduler.Yield, kueuev1beta2.WorkloadEvictedByPreemption)
	if younger.contest().Preempted {
		t.Error("the spared gang is preempted as well")
	}
	older.deletePods()
	older.until("handed back", scheduler.Hold)
	urgent.until("let in", scheduler.Go)
	*younger.status.Spare = false
	younger.quiet()
	if c := younger.contest(); c.Spared || c.Preempted {
		t.Errorf("its contest is %+v", c)
	}
	if wl := younger.workload(); wl.Annotations["kueue.x-k8s.io/priority-boost"] != "" {
		t.Error("its boost was not removed")
	}
}

// TestPreemptionGateOff: a released Kueue ignores gates, and the backend detects it.
func TestPreemptionGateOff(t *testing.T) {
	s := newTestClusterOf(t, localcluster.KueueReleaseConfiguration)
	_, younger := twoRun(s)
	urgent := s.job("urgent", gated)
	urgent.until("waits for the victim", scheduler.Hold, scheduler.ReasonQuotaExceeded)
	younger.until("preempted", scheduler.Yield, kueuev1beta2.WorkloadEvictedByPreemption)
	urgent.untilGate(scheduler.GateIgnored)
	urgent.status.MayPreempt = true
	urgent.quiet()
}

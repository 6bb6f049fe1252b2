package contention

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const rack = "example.com/rack"

func withinRack(j *Job) {
	j.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{Mode: v1alpha1.TopologyWithin, Key: rack}
}

// racks labels the nodes of a state.
func racks(s scheduler.ClusterState, of map[string]string) scheduler.ClusterState {
	for i := range s.Nodes {
		if name, ok := of[s.Nodes[i].Name]; ok {
			s.Nodes[i].Labels = map[string]string{rack: name}
		}
	}
	return s
}

// twoRacks of two nodes each, of which one is free.
func twoRacks() scheduler.ClusterState {
	return racks(scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{
		node("a0", 8), node("a1", 0), node("b0", 8), node("b1", 0),
	}}, map[string]string{"a0": "rack-a", "a1": "rack-a", "b0": "rack-b", "b1": "rack-b"})
}

// TestChooseWithinDomain: one victim in one rack, and the status names the rack.
func TestChooseWithinDomain(t *testing.T) {
	c := Cluster{Now: now, State: twoRacks(), Jobs: []Job{
		jobOf("urgent", 100, 2, lacksNodes, withinRack),
		jobOf("dear", 1, 1, runs(time.Hour, "a0")),
		jobOf("cheap", 1, 1, runs(20*time.Minute, "b0"), saved(time.Minute)),
	}}
	got := Choose(policy, c)[preemption.Ref{UID: "urgent", Attempt: 1}]
	if got == nil || got.Domain != "rack-b" || len(got.Victims) != 1 || got.Victims[0].Name != "cheap" {
		t.Errorf("got %+v, want cheap to yield in rack-b", got)
	}
}

// TestBoundRanksFixTheDomain: the other ranks of a gang can only join those that have nodes.
func TestBoundRanksFixTheDomain(t *testing.T) {
	j := jobOf("urgent", 100, 2, lacksNodes, withinRack)
	gang := waitingGang(&j, twoRacks(), nil)
	if len(gang.Domains) != 2 {
		t.Fatalf("without ranks: %v", gang.Domains)
	}
	enters := runs(0, "a1")
	enters(&j)
	want := []preemption.Domain{{Name: "rack-a", Nodes: []string{"a0", "a1"}}}
	if diff := cmp.Diff(want, waitingGang(&j, twoRacks(), nil).Domains); diff != "" {
		t.Errorf("with a rank in rack-a (-want +got):\n%s", diff)
	}
}

// TestTopologyCannotPreempt: Volcano preempts for no gang that must lie within one domain. Instead of a
// hand-over, such a gang waits after its plan has failed, and other gangs no longer yield to it.
func TestTopologyCannotPreempt(t *testing.T) {
	for name, tc := range map[string]struct {
		scheduler v1alpha1.SchedulerName
		outcome   v1alpha1.PreemptionOutcome
		phase     v1alpha1.PreemptionPhase
	}{
		"volcano": {v1alpha1.SchedulerVolcano, v1alpha1.PreemptionTopologyCannotPreempt, ""},
		"native":  {v1alpha1.SchedulerNative, v1alpha1.PreemptionPlanned, v1alpha1.PreemptionHandedOver},
	} {
		t.Run(name, func(t *testing.T) {
			on := func(j *Job) { j.Status.Scheduling.Scheduler = tc.scheduler }
			urgent := urgentJob("urgent", 100, 2, withinRack, on)
			urgent.Status.Scheduling.Preemption = &v1alpha1.PreemptionStatus{
				Outcome: v1alpha1.PreemptionPlanned, Phase: v1alpha1.PreemptionPlacing, Domain: "rack-b", Round: 3,
				StartedTime: timeOf(now.Add(-3 * time.Minute)), PhaseTime: timeOf(now.Add(-time.Minute)),
				Deadline: timeOf(now.Add(-time.Minute)),
			}
			low := jobOf("low", 1, 1, on, runs(time.Hour, "a0"))
			c := Cluster{Now: now, State: twoRacks(), Jobs: []Job{urgent, low}}
			got := Broker(brokerPolicy, c).Statuses[urgent.ref()]
			if got == nil || got.Outcome != tc.outcome || got.Phase != tc.phase {
				t.Fatalf("after the last round: %+v, want %s %s", got, tc.outcome, tc.phase)
			}
			if tc.phase != "" {
				return
			}
			c.Jobs[0].Status.Scheduling.Preemption = got
			orders := Broker(brokerPolicy, c)
			if st := orders.Statuses[urgent.ref()]; st != nil && st.Phase != "" || len(orders.GiveWay) > 0 {
				t.Errorf("the next pass: %+v, %v yield", st, orders.GiveWay)
			}
		})
	}
}

// TestLateWithinDomain: on Volcano a gang that finds victims late still gets a plan.
func TestLateWithinDomain(t *testing.T) {
	late := func(j *Job) { waits(10*time.Minute, v1alpha1.ReasonInsufficientResources)(j) }
	c := Cluster{Now: now, State: twoRacks(), Jobs: []Job{
		urgentJob("urgent", 100, 2, withinRack, late),
		jobOf("low", 1, 1, runs(time.Hour, "a0")),
	}}
	got := Broker(brokerPolicy, c).Statuses[preemption.Ref{UID: "urgent", Attempt: 1}]
	if got == nil || got.Phase != v1alpha1.PreemptionAsking && got.Phase != v1alpha1.PreemptionReleasing ||
		got.Domain != "rack-a" {
		t.Errorf("got %+v, want a plan for rack-a", got)
	}
	c.Jobs[1].Value = 100 // nothing can yield
	got = Broker(brokerPolicy, c).Statuses[preemption.Ref{UID: "urgent", Attempt: 1}]
	if got == nil || got.Phase != "" {
		t.Errorf("without victims: %+v, want no hand-over", got)
	}
}

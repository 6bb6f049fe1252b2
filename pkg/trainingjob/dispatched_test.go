package trainingjob

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest/stubs"
)

// dispatcher is a backend whose scheduler dispatches gangs to other clusters.
type dispatcher struct {
	stubBackend
	stubs.NoQuotas
}

func (dispatcher) Traits() scheduler.Traits {
	return scheduler.Traits{ManagedBy: v1alpha1.ManagedByMultiKueue}
}

func TestDecideForManagedJob(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	running := func(s *Snapshot) {
		s.Job.Status.Phase = v1alpha1.PhaseRunning
		s.Job.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{"Worker": {Active: 2}}
	}
	blocker := v1alpha1.Blocker{Reason: "NameTaken", Message: "another controller owns it", NextStep: "rename"}
	cases := map[string]struct {
		reason string
		edit   func(*Snapshot)
		group  decision.GroupAction
		wake   time.Duration
		events []string
	}{
		"new": {reason: "the scheduler dispatches the group", group: decision.Apply, edit: func(*Snapshot) {}},
		"running": {
			reason: "the other cluster runs the job", group: decision.Apply, edit: func(s *Snapshot) {
				running(s)
				s.Verdict.Admission = scheduler.Go
			},
		},
		"requeued while running": {
			reason: "a lost cluster sends no event", group: decision.Apply, wake: time.Minute,
			edit: func(s *Snapshot) { running(s); s.Verdict.Admission = scheduler.Hold },
		},
		"suspended": {
			reason: "a suspended job holds no quota", group: decision.Remove,
			edit: func(s *Snapshot) { s.Job.Spec.RunPolicy.Suspend = new(true) },
		},
		"rejected": {
			reason: "another controller writes the status", group: decision.Apply, wake: 7 * time.Second,
			events: []string{"NameTaken: another controller owns it; rename"}, edit: func(s *Snapshot) {
				s.CreateBackoff = &observation.CreateBackoff{Blocker: blocker, RetryTime: now.Add(7 * time.Second)}
			},
		},
		"without its scheduler": {
			reason: "the operator changes nothing", group: decision.Keep,
			events: []string{"NameTaken: another controller owns it; rename"},
			edit:   func(s *Snapshot) { s.Backend, s.SchedulerProblem = nil, &blocker },
		},
		"managed by another controller": {
			reason: "the operator ignores even an invalid spec", group: decision.Keep, edit: func(s *Snapshot) {
				s.Job.Spec.ManagedBy, s.Job.Spec.Image = "example.com/another", ""
				s.Gang = observation.DescribeGang(s.Job, s.Backend, nil, nil, nil, false)
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job := jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = v1alpha1.ManagedByMultiKueue })
			s := Snapshot{Job: job, Backend: dispatcher{}, Now: now}
			s.Gang = observation.DescribeGang(job, s.Backend, nil, nil, nil, false)
			c.edit(&s)
			before := s.Job.Status.DeepCopy()
			p := Decide(s)
			if diff := cmp.Diff(*before, p.Status); diff != "" {
				t.Errorf("%s: the status is the mirrored one (-want +got):\n%s", c.reason, diff)
			}
			if p.Group != c.group || p.Service != decision.Keep || len(p.Create) > 0 || p.Transition || p.Resolve {
				t.Errorf("%s: got %+v, want only the group to %s", c.reason, p, c.group)
			}
			wake := time.Duration(0)
			if !p.Wake.IsZero() {
				wake = p.Wake.Sub(now)
			}
			var events []string
			for _, e := range p.Events {
				events = append(events, e.Reason+": "+e.Message)
			}
			if diff := cmp.Diff(c.events, events); diff != "" || wake != c.wake {
				t.Errorf("%s: wakes in %v, want %v; events (-want +got):\n%s", c.reason, wake, c.wake, diff)
			}
		})
	}
}

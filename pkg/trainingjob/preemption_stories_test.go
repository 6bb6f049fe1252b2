package trainingjob

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Preemption plans in the status of a job, in dry-run mode.
var preemptionStories = map[string]story{
	"preemption-dry-run": {jobtest.New(4), func(sim *simulation) {
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "no capacity")
		sim.explanation = insufficientGPUs(0)
		sim.narrate("the user applies a job that does not fit")
		sim.preemption = planWithVictim(170, "low-a")
		sim.narrate("the operator ignores the plan until the blocker is persisted")
		sim.advance(6 * time.Second)
		sim.narratePlan("the status has the blocker, and the victims of the plan")
		sim.preemption = planWithVictim(230, "low-a")
		sim.advance(30 * time.Second)
		sim.narratePlan("the same victim at another cost, within a minute: no write")
		sim.preemption = planWithVictim(170, "low-b")
		sim.advance(29 * time.Second)
		sim.narratePlan("another victim within a minute: no write, since victims of equal cost alternate")
		sim.advance(time.Second)
		sim.narratePlan("after a minute the new victim is written")
		sim.advance(10 * time.Minute)
		sim.narratePlan("the same plan again: no write")
		sim.preemption = &v1alpha1.PreemptionStatus{Outcome: v1alpha1.PreemptionNoCover}
		sim.narratePlan("there are no victims left, which is written at once")
		sim.preemption = &v1alpha1.PreemptionStatus{Outcome: v1alpha1.PreemptionBusy}
		sim.advance(30 * time.Second)
		sim.narratePlan("another outcome without victims is not written at once")
		sim.preemption = planWithVictim(170, "low-b")
		sim.narratePlan("a new victim is written at once")
		sim.preemption = nil
		sim.advance(time.Minute)
		sim.narratePlan("there is no plan, which alone causes no write")
		sim.explanation = insufficientGPUs(2)
		sim.advance(time.Minute)
		sim.narratePlan("new numbers of the blocker are written, together with the missing plan")
		sim.preemption = planWithVictim(170, "low-b")
		sim.narratePlan("there is a plan again")
		sim.explanation = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/research"}
		sim.advance(time.Second)
		sim.narratePlan("the queue is closed, which preemption cannot solve, so the status has no plan")
		sim.explanation = insufficientGPUs(0)
		sim.advance(time.Second)
		sim.narratePlan("the queue is open, and the gang still does not fit")
		sim.verdict, sim.explanation = judged(scheduler.Go, "", ""), nil
		sim.converge()
		sim.bindAndStart()
		sim.narratePlan("the gang is running, and its status has no plan")
	}},
}

func insufficientGPUs(free int64) *scheduler.Explanation {
	return &scheduler.Explanation{
		Reason: scheduler.ReasonInsufficientResources, Message: fmt.Sprintf("needs 8 GPUs, %d free", free),
	}
}

// planWithVictim returns a plan with one victim of 8 GPUs, which loses so many seconds.
func planWithVictim(loss int64, name string) *v1alpha1.PreemptionStatus {
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionPlanned, VictimCount: 1, LossGPUSeconds: 8 * loss,
		Victims: []v1alpha1.PreemptionVictim{{
			UID: types.UID("uid-" + name), Attempt: 1, Name: name, GPUs: 8, Mode: v1alpha1.PreemptionKill,
			EstimatedLossSeconds: loss, LossGPUSeconds: 8 * loss,
		}},
	}
}

// narratePlan narrates, and logs the plan in the status and the number of status writes.
func (sim *simulation) narratePlan(what string) {
	writes := sim.statusWrites
	sim.narrate("%s", what)
	plan := "nothing"
	if s := sim.job.Status.Scheduling; s != nil && s.Preemption != nil {
		plan = string(s.Preemption.Outcome)
		for _, v := range s.Preemption.Victims {
			plan += fmt.Sprintf(" %s for %d s", v.Name, v.EstimatedLossSeconds)
		}
	}
	sim.logf("= preemption: %s; %d writes", plan, sim.statusWrites-writes)
}

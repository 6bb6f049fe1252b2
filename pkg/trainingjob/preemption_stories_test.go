package trainingjob

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// What a job is told of whom the planner would have make room for it.
var preemptionStories = map[string]story{
	"preemption-dry-run": {jobtest.New(4), func(sim *simulation) {
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "no room")
		sim.explanation = lacks(0)
		sim.narrate("a job is applied; there is too little room")
		sim.preemption = wouldTake(170, "low-a")
		sim.narrate("the planner is not heard before the job says that it lacks room")
		sim.advance(6 * time.Second)
		sim.tell("it lacks room, and says whose end would make some")
		sim.preemption = wouldTake(230, "low-a")
		sim.advance(30 * time.Second)
		sim.tell("the same victim, at another price, within a minute: nothing is written")
		sim.preemption = wouldTake(170, "low-b")
		sim.advance(29 * time.Second)
		sim.tell("nor for another victim: of two that cost the same each checkpoint makes the other the cheaper")
		sim.advance(time.Second)
		sim.tell("after a minute it is")
		sim.advance(10 * time.Minute)
		sim.tell("the same again: nothing is written")
		sim.preemption = &v1alpha1.PreemptionStatus{Outcome: v1alpha1.PreemptionNoCover}
		sim.tell("nobody is left who could make room: at once")
		sim.preemption = &v1alpha1.PreemptionStatus{Outcome: v1alpha1.PreemptionBusy}
		sim.advance(30 * time.Second)
		sim.tell("another reason why nobody is named can wait")
		sim.preemption = wouldTake(170, "low-b")
		sim.tell("somebody who would make room cannot")
		sim.preemption = nil
		sim.advance(time.Minute)
		sim.tell("the planner is silent: that alone is no reason for a write")
		sim.explanation = lacks(2)
		sim.advance(time.Minute)
		sim.tell("other numbers of the blocker take the rest along")
		sim.preemption = wouldTake(170, "low-b")
		sim.tell("the planner is back")
		sim.explanation = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/research"}
		sim.advance(time.Second)
		sim.tell("the queue is closed: that is no lack of room, whatever the planner still says")
		sim.explanation = lacks(0)
		sim.advance(time.Second)
		sim.tell("it is open, and the room is still lacking")
		sim.verdict, sim.explanation = judged(scheduler.Go, "", ""), nil
		sim.converge()
		sim.bindAndStart()
		sim.tell("room comes: with the phase all of it goes")
	}},
}

func lacks(free int64) *scheduler.Explanation {
	return &scheduler.Explanation{
		Reason: scheduler.ReasonInsufficientResources, Message: fmt.Sprintf("needs 8 GPUs, %d free", free),
	}
}

// wouldTake one victim of 8 GPUs.
func wouldTake(loss int64, name string) *v1alpha1.PreemptionStatus {
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionPlanned, VictimCount: 1, LossGPUSeconds: 8 * loss,
		Victims: []v1alpha1.PreemptionVictim{{
			UID: types.UID("uid-" + name), Attempt: 1, Name: name, GPUs: 8, Mode: v1alpha1.PreemptionKill,
			EstimatedLossSeconds: loss, LossGPUSeconds: 8 * loss,
		}},
	}
}

// tell a line of the story, what the operator does about it, and what the job says of a preemption then.
func (sim *simulation) tell(what string) {
	writes := sim.statusWrites
	sim.narrate("%s", what)
	said := "nothing"
	if s := sim.job.Status.Scheduling; s != nil && s.Preemption != nil {
		said = string(s.Preemption.Outcome)
		for _, v := range s.Preemption.Victims {
			said += fmt.Sprintf(" %s for %d s", v.Name, v.EstimatedLossSeconds)
		}
	}
	sim.logf("= preemption: %s; %d writes", said, sim.statusWrites-writes)
}

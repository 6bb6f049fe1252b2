package contention

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// planSavesAhead orders early saves from the likely victims of a gang that has no plan yet. It ignores
// protection and the limit of plans, so that the victims lose little however they are preempted later. It
// examines at most as many gangs as there may be plans.
func (b *broker) planSavesAhead(j *Job) {
	planned := slices.ContainsFunc(b.plans, func(p preemption.Plan) bool { return p.For == j.ref() })
	if planned || b.endangering == b.policy.MaxPlans || !brokerable(j) || !lacksCapacity(j) ||
		b.hasFailed(j) {
		return
	}
	if !b.knowsCapacity(j) {
		return
	}
	b.endangering++
	snapshot, policy := b.snapshot(j), b.policy
	if len(snapshot.Waiting[0].Needs) == 0 || snapshot.FitsSoon(&snapshot.Waiting[0]) {
		return // it is placed, or capacity becomes free by itself
	}
	snapshot.Waiting[0].Blocked = time.Time{} // so that no gang is protected
	policy.MaxPlans = len(b.plans) + 1
	choice := policy.Choose(snapshot)[0]
	for _, v := range choice.Plan.Victims {
		h := b.holderOf(v.Ref)
		if h != nil && v.Mode == preemption.Save && policy.SavesAhead(&h.gang, b.now) {
			b.orders.SaveAhead[v.Ref] = types.NamespacedName{Namespace: j.Namespace, Name: j.Name}
		}
	}
}

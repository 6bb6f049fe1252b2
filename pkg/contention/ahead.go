package contention

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// endanger those who would make room for a gang that has no plan yet, were nobody sheltered and the number of
// plans unlimited: they save meanwhile, and lose little whoever takes their place then, and however. As many
// gangs are looked at as there may be plans.
func (b *broker) endanger(j *Job) {
	planned := slices.ContainsFunc(b.plans, func(p preemption.Plan) bool { return p.For == j.ref() })
	if planned || b.endangering == b.policy.MaxPlans || !brokerable(j) || !lacksRoom(j) {
		return
	}
	b.endangering++
	snapshot, policy := b.snapshot(j), b.policy
	if len(snapshot.Waiting[0].Needs) == 0 || snapshot.FitsSoon(&snapshot.Waiting[0]) {
		return // it is placed, or room comes by itself
	}
	snapshot.Waiting[0].Blocked = time.Time{} // for so long that nobody is sheltered any more
	policy.MaxPlans = len(b.plans) + 1
	choice := policy.Choose(snapshot)[0]
	for _, v := range choice.Plan.Victims {
		h := b.holderOf(v.Ref)
		if h != nil && v.Mode == preemption.Save && policy.SavesAhead(&h.gang, b.now) {
			b.orders.SaveAhead[v.Ref] = types.NamespacedName{Namespace: j.Namespace, Name: j.Name}
		}
	}
}

package schedulertest

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Dialect describes a backend to the contract: where its objects keep what every dialect has, and what its
// scheduler writes.
type Dialect struct {
	// Prepare adds to a sample what every gang of this dialect must have, such as a queue; nil adds nothing.
	// It must not change maps or slices in place.
	Prepare func(*scheduler.Gang)
	// MinMember returns the gang's minimum from its group, the first of its objects.
	MinMember func(group client.Object) int32
	// GroupOf returns the name of a joined pod's group.
	GroupOf func(*corev1.Pod) string
	// PerAttempt is true when every attempt has a group of its own, and false when all attempts share one.
	PerAttempt bool
	// PodsFirst is true when the scheduler judges only gangs whose pods exist. Read without objects then
	// returns Go instead of Hold.
	PodsFirst bool
	// GroupStates are what the scheduler writes on a group, at least one for every phase and condition that
	// it has.
	GroupStates []GroupState
	// UnsupportedGangs are gangs that the dialect cannot express, at least one for each rule of Validate.
	UnsupportedGangs []UnsupportedGang
}

// GroupState is a state that a scheduler writes on a group.
type GroupState struct {
	Name string
	// Write sets the state on a group as scheduling session n (1, 2, ...) would, with the ids, times and
	// random choices of that session, in an unchanged cluster.
	Write func(group client.Object, n int)
	// Invites is true when the scheduler requests the pods of the next attempt. While the gang has no pods,
	// any other state of a group that outlives an attempt is left over from that attempt.
	Invites bool
}

// UnsupportedGang is a gang that Validate must refuse.
type UnsupportedGang struct {
	Name   string
	Change func(*scheduler.Gang)
	// Path is the TrainingJob's field under which Validate reports the error.
	Path string
}

// samples returns the samples as the dialect needs them.
func (d Dialect) samples() []Sample {
	all := Samples()
	for i := range all {
		all[i].Gang = d.prepared(all[i].Gang)
	}
	return all
}

func (d Dialect) prepared(g scheduler.Gang) scheduler.Gang {
	if d.Prepare != nil {
		d.Prepare(&g)
	}
	return g
}

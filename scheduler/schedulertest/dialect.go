package schedulertest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Dialect is what the contract must be told of a backend: where its objects keep what every dialect has, and what its
// scheduler writes.
type Dialect struct {
	// Prepare adds to a sample what every gang of this dialect must have, such as a queue; nil: nothing. It changes no map or
	// list in place.
	Prepare func(*scheduler.Gang)
	// MinMember reads the gang's minimum from its group, the first of its objects.
	MinMember func(group client.Object) int32
	// GroupOf reads from a joined pod the name of its group.
	GroupOf func(*corev1.Pod) string
	// PerAttempt: every attempt has a group of its own. Otherwise one group serves all of them.
	PerAttempt bool
	// PodsFirst: pods must exist to be judged, so that nothing read means Go and not Hold.
	PodsFirst bool
	// GroupStates are what the scheduler writes on a group; give every phase and every condition that it knows.
	GroupStates []GroupState
	// UnsupportedGangs are gangs that the dialect cannot express; give one for each rule of Validate.
	UnsupportedGangs []UnsupportedGang
}

// GroupState is one state that a scheduler leaves on a group.
type GroupState struct {
	Name string
	// Write puts it onto a group as scheduling session n (1, 2, ...) would: with the ids, times and random choices of that
	// session, over a cluster that has not changed.
	Write func(group client.Object, n int)
	// Invites: the scheduler asks for the pods of the next attempt, whatever came before. Anything else on a group that
	// outlives an attempt is a leftover as long as there are no pods.
	Invites bool
}

// UnsupportedGang is a gang that Validate must refuse.
type UnsupportedGang struct {
	Name   string
	Change func(*scheduler.Gang)
	// Path of the TrainingJob's field.
	Path string
}

// samples as the dialect needs them.
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

// Run checks every promise in a subtest of its name.
func Run(t *testing.T, b scheduler.Backend, d Dialect) {
	t.Helper()
	broken := map[Promise][]Violation{}
	for _, v := range Verify(b, d) {
		broken[v.Promise] = append(broken[v.Promise], v)
	}
	for _, p := range Promises() {
		t.Run(string(p), func(t *testing.T) {
			for _, v := range broken[p] {
				t.Errorf("%s: %s", v.About, v.Detail)
			}
		})
	}
}

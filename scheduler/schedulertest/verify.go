package schedulertest

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// check finds violations of one promise.
type check struct {
	promise Promise
	run     func(*verifier)
}

func checks() []check {
	return []check{
		{DeclaredKinds, declaredKinds}, {Deterministic, deterministic}, {Settles, settles},
		{LeavesGangAlone, leavesGangAlone},
		{Owned, owned},
		{ShortNames, shortNames}, {SpecOnly, specOnly}, {WholeMinimum, wholeMinimum}, {Attempts, attempts},
		{JoinIdempotent, joinIdempotent}, {JoinModest, joinModest}, {JoinsGroup, joinsGroup},
		{JoinPriority, joinPriority},
		{ReadsNothing, readsNothing}, {ReadsLeftover, readsLeftover}, {ReadsStrange, readsStrange},
		{ReadsStable, readsStable}, {ReadsPlain, readsPlain}, {ValidateHelps, validateHelps},
		{ValidateAgrees, validateAgrees},
		{TraitsHold, traitsHold}, {SyncsPurely, syncsPurely}, {SyncsWhatExists, syncsWhatExists},
	}
}

// Promises returns all promises in the order in which they are checked.
func Promises() []Promise {
	var all []Promise
	for _, c := range checks() {
		all = append(all, c.promise)
	}
	return all
}

// Verify checks every promise and returns the violations. A panic breaks the promise that is being checked.
func Verify(b scheduler.Backend, d Dialect) []Violation {
	v := &verifier{backend: b, dialect: d}
	for _, c := range checks() {
		v.promise, v.about = c.promise, "backend "+b.Name()
		v.guarded(func() { c.run(v) })
	}
	return v.found
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

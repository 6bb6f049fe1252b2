package schedulertest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Promise is one property of a backend that the operator relies on.
type Promise string

// The promises of a backend. The comment of each check says why it matters.
const (
	DeclaredKinds   Promise = "objects are of the declared kinds"
	Deterministic   Promise = "objects are the same every time"
	Settles         Promise = "existing objects are requested unchanged"
	LeavesGangAlone Promise = "the gang is neither changed nor shared"
	Owned           Promise = "objects are owned, labelled and in the job's namespace"
	ShortNames      Promise = "names are DNS labels of at most 63 characters"
	SpecOnly        Promise = "objects carry no field that others write"
	WholeMinimum    Promise = "the group demands minAvailable"
	Attempts        Promise = "the group's name changes with the attempt as declared"
	JoinIdempotent  Promise = "joining twice is joining once"
	JoinModest      Promise = "joining changes only what is the scheduler's"
	JoinsGroup      Promise = "every rank joins the group that is applied"
	JoinPriority    Promise = "a joined pod has the gang's priority class, or keeps its own"
	ReadsNothing    Promise = "without objects the verdict is the dialect's first one, and not judged"
	ReadsLeftover   Promise = "leftovers of an earlier attempt never admit the next one"
	ReadsStrange    Promise = "zero and foreign objects are ignored"
	ReadsStable     Promise = "two sessions over the same cluster give the same verdict"
	ReadsPlain      Promise = "reasons are one CamelCase word, messages one line"
	ValidateHelps   Promise = "validation errors have a path and a remedy"
	ValidateAgrees  Promise = "the plainest gang is accepted"
	TraitsHold      Promise = "traits are the same every time and agree with each other"
	SyncsPurely     Promise = "status writes are the same every time and change no object"
	SyncsWhatExists Promise = "status writes go only to objects of the gang that exist"
)

// Violation is a broken promise.
type Violation struct {
	Promise Promise
	// About names the sample, group state or unsupported gang; Detail says what was found.
	About, Detail string
}

// verifier collects the violations of one backend.
type verifier struct {
	backend scheduler.Backend
	dialect Dialect

	promise Promise
	about   string
	found   []Violation
}

func (v *verifier) failf(format string, args ...any) {
	v.found = append(v.found, Violation{v.promise, v.about, fmt.Sprintf(format, args...)})
}

// guarded calls f and turns a panic into a violation.
func (v *verifier) guarded(f func()) {
	defer func() {
		if r := recover(); r != nil {
			v.failf("panic: %v", r)
		}
	}()
	f()
}

// samples calls f with each sample that the dialect accepts, and names it in the violations that f finds.
func (v *verifier) samples(f func(scheduler.Gang)) {
	for _, s := range v.dialect.samples() {
		v.about = "sample " + s.Name
		v.guarded(func() {
			if len(v.backend.Validate(s.Gang)) == 0 {
				f(s.Gang)
			}
		})
	}
}

// ranks calls f with each rank of each accepted sample.
func (v *verifier) ranks(f func(g scheduler.Gang, role scheduler.Role, index int32)) {
	v.samples(func(g scheduler.Gang) {
		for _, role := range g.Roles {
			for i := range role.Replicas {
				f(g, role, i)
			}
		}
	})
}

// groupStates calls f with each accepted sample and each state of its group.
func (v *verifier) groupStates(f func(g scheduler.Gang, s GroupState)) {
	v.samples(func(g scheduler.Gang) {
		sample := v.about
		for _, s := range v.dialect.GroupStates {
			v.about = sample + ", state " + s.Name
			v.guarded(func() { f(g, s) })
		}
	})
}

// objectsIn returns the gang's objects with the group in a state that a session wrote.
func (v *verifier) objectsIn(g scheduler.Gang, s GroupState, session int) []client.Object {
	objs := v.objects(g)
	s.Write(objs[0], session)
	return objs
}

// objects returns the objects of a gang. It panics, and so breaks the promise that is being checked, on an
// error or if there are none.
func (v *verifier) objects(g scheduler.Gang) []client.Object {
	objs, err := v.backend.Objects(g)
	if err != nil {
		panic(fmt.Sprintf("Objects: %v", err))
	}
	if len(objs) == 0 {
		panic("Objects: none")
	}
	return objs
}

// joined returns a rank after Join.
func (v *verifier) joined(g scheduler.Gang, role scheduler.Role, index int32) *corev1.Pod {
	pod := Pod(g, role, index)
	v.backend.Join(pod, g, admitted)
	return pod
}

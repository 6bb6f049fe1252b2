package schedulertest

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Promise is one thing that the operator relies on.
type Promise string

// The promises of a dialect; the checks beside them say what each means.
const (
	DeclaredKinds   Promise = "objects are of the declared kinds"
	Deterministic   Promise = "objects are the same every time"
	LeavesGangAlone Promise = "nothing changes or shares the gang's memory"
	Owned           Promise = "objects are owned, labelled and in the job's namespace"
	ShortNames      Promise = "names are DNS labels of at most 63 characters"
	SpecOnly        Promise = "objects carry nothing that others write"
	WholeMinimum    Promise = "the group demands minAvailable"
	Attempts        Promise = "the group's name changes with the attempt as declared"
	JoinIdempotent  Promise = "joining twice is joining once"
	JoinModest      Promise = "joining touches only what is the scheduler's"
	JoinsGroup      Promise = "every rank joins the group that is applied"
	JoinPriority    Promise = "a joined pod has the gang's priority class, or keeps its own"
	ReadsNothing    Promise = "nothing read is the dialect's starting point, and not judged"
	ReadsLeftover   Promise = "what an earlier attempt left never lets the next one through"
	ReadsStrange    Promise = "zero and foreign objects neither panic nor say anything"
	ReadsStable     Promise = "two sessions over one cluster read alike"
	ReadsPlain      Promise = "reasons are one CamelCase word, messages one line"
	ValidateHelps   Promise = "refusals carry a path and a remedy"
	ValidateAgrees  Promise = "the plainest gang is accepted"
	SyncsPurely   Promise = "a report is the same every time and leaves its objects alone"
	SyncsWhatExists   Promise = "a report writes to nothing but objects of the gang that exist"
)

// Violation is a broken promise.
type Violation struct {
	Promise Promise
	// About which sample, saying or refusal; Detail what was found.
	About, Detail string
}

type check struct {
	promise Promise
	run     func(*verifier)
}

func checks() []check {
	return []check{
		{DeclaredKinds, declaredKinds}, {Deterministic, deterministic}, {LeavesGangAlone, leavesGangAlone}, {Owned, owned},
		{ShortNames, shortNames}, {SpecOnly, specOnly}, {WholeMinimum, wholeMinimum}, {Attempts, attempts},
		{JoinIdempotent, joinIdempotent}, {JoinModest, joinModest}, {JoinsGroup, joinsGroup}, {JoinPriority, joinPriority},
		{ReadsNothing, readsNothing}, {ReadsLeftover, readsLeftover}, {ReadsStrange, readsStrange},
		{ReadsStable, readsStable}, {ReadsPlain, readsPlain}, {ValidateHelps, validateHelps}, {ValidateAgrees, validateAgrees},
		{SyncsPurely, reportsPurely}, {SyncsWhatExists, reportsWhatIs},
	}
}

// Promises in the order in which they are checked.
func Promises() []Promise {
	var all []Promise
	for _, c := range checks() {
		all = append(all, c.promise)
	}
	return all
}

// Verify checks every promise and returns those that are broken. A panic breaks the promise under which it occurs.
func Verify(b scheduler.Backend, d Dialect) []Violation {
	v := &verifier{backend: b, dialect: d}
	for _, c := range checks() {
		v.promise, v.about = c.promise, "backend "+b.Name()
		v.guarded(func() { c.run(v) })
	}
	return v.found
}

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

func (v *verifier) guarded(f func()) {
	defer func() {
		if r := recover(); r != nil {
			v.failf("panic: %v", r)
		}
	}()
	f()
}

// samples that the dialect accepts, each named in what is found about it.
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

// ranks of the samples.
func (v *verifier) ranks(f func(g scheduler.Gang, role scheduler.Role, index int32)) {
	v.samples(func(g scheduler.Gang) {
		for _, role := range g.Roles {
			for i := range role.Replicas {
				f(g, role, i)
			}
		}
	})
}

// sayings on the group of every sample, as one scheduling session writes them.
func (v *verifier) sayings(f func(g scheduler.Gang, s GroupState)) {
	v.samples(func(g scheduler.Gang) {
		sample := v.about
		for _, s := range v.dialect.GroupStates {
			v.about = sample + ", saying " + s.Name
			v.guarded(func() { f(g, s) })
		}
	})
}

// said is the gang's objects with a saying on the group.
func (v *verifier) said(g scheduler.Gang, s GroupState, session int) []client.Object {
	objs := v.objects(g)
	s.Write(objs[0], session)
	return objs
}

// objects of a gang; an error or none at all panics, which breaks the promise that is being checked.
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

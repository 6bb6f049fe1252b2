package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// jobStates is this process's memory of every job that exists: what one reconcile must tell the next, and
// neither the job's status nor any object shows. A new process begins with none and meets the same answers
// again.
type jobStates struct {
	mu     sync.Mutex
	states map[types.UID]*jobState
	// names of the jobs that exist.
	names map[types.NamespacedName]types.UID
	// now is time.Now, but in tests.
	now func() time.Time
}

// jobState is the memory of one job.
type jobState struct {
	// statusVersion is the resourceVersion that our last write of the job's status got.
	statusVersion string
	// confirmedAttempt is the attempt that an uncached read of the job confirmed.
	confirmedAttempt int32
	// writtenAttempt is the attempt in our last write of the status, at writtenAt.
	writtenAttempt int32
	writtenAt      time.Time
	// claimAttempt is the attempt in which the checkpoint claim was seen to exist.
	claimAttempt int32
	// claims that its pods mount, by name, as they were read last.
	claims map[string]readClaim
	// monitorAttempt is the attempt in which the PodMonitor was seen to.
	monitorAttempt int32
	// emitted are the events of emittedAttempt that are emitted once.
	emitted        map[string]bool
	emittedAttempt int32
	// mutatedByAdmission holds, by object, the hash of what was applied where the API server's answer differs
	// from it: an admission plugin changed it, so applying the same at every reconcile would never end.
	mutatedByAdmission map[types.UID]string
	backoff            *createBackoff
	// otherReason is that of the last decision; see the Plan's.
	otherReason *observation.OtherReason
}

// createBackoff is the Snapshot's CreateBackoff with what the shell must know of the rejection. It belongs to
// one attempt and one generation of the spec, and never changes once it is set.
type createBackoff struct {
	observation.CreateBackoff
	// rejected is the kind of what was rejected; zero where the backend does not support the gang.
	rejected schema.GroupVersionKind
	// holder of the name that is taken.
	holder     types.UID
	generation int64
	attempt    int32
	// retries that were rejected too.
	retries int
}

func newJobStates() *jobStates {
	return &jobStates{
		states: map[types.UID]*jobState{}, names: map[types.NamespacedName]types.UID{}, now: time.Now,
	}
}

// track notes that the job of this UID bears the name; a former job of that name is gone, and forgotten.
func (s *jobStates) track(name types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if former, ok := s.names[name]; ok && former != uid {
		delete(s.states, former)
	}
	s.names[name] = uid
}

// untrack notes that no job bears the name any more.
func (s *jobStates) untrack(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, s.names[name])
	delete(s.names, name)
}

// tracked returns the names of all jobs that exist.
func (s *jobStates) tracked() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.names))
}

// state of a job, made when missing. The caller holds the lock.
func (s *jobStates) state(job types.UID) *jobState {
	state, ok := s.states[job]
	if !ok {
		state = &jobState{mutatedByAdmission: map[types.UID]string{}}
		s.states[job] = state
	}
	return state
}

// isStale reports whether the cached job is older than our last write of its status.
func (s *jobStates) isStale(job *v1alpha1.TrainingJob) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.state(job.UID).statusVersion
	return version != "" && olderThan(job.ResourceVersion, version)
}

// setStatusVersion records the resourceVersion that a write of the job's status got.
func (s *jobStates) setStatusVersion(job types.UID, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).statusVersion = version
}

// writeConfirms is how long a write of the status, which holds only for the version of the job that it was
// made from, is as good as an uncached read: less than it takes another leader to follow a process that
// stands still (leaderelection's defaults: 15 s).
const writeConfirms = 3 * time.Second

// attemptConfirmed reports whether this process has confirmed the attempt by an uncached read, or has just
// written it.
func (s *jobStates) attemptConfirmed(job types.UID, attempt int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	if state.writtenAttempt == attempt && s.now().Sub(state.writtenAt) < writeConfirms {
		state.confirmedAttempt = attempt
	}
	return state.confirmedAttempt == attempt
}

// setAttemptWritten records the attempt that the API server has just taken a write of the status for.
func (s *jobStates) setAttemptWritten(job types.UID, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	state.writtenAttempt, state.writtenAt = attempt, s.now()
}

func (s *jobStates) setAttemptConfirmed(job types.UID, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).confirmedAttempt = attempt
}

// monitorSeen reports whether this process has seen to the job's PodMonitor in this attempt.
func (s *jobStates) monitorSeen(job types.UID, attempt int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).monitorAttempt == attempt
}

func (s *jobStates) setMonitorSeen(job types.UID, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).monitorAttempt = attempt
}

// claimSeen reports whether this process has seen the claim for the job's checkpoints in this attempt.
func (s *jobStates) claimSeen(job types.UID, attempt int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).claimAttempt == attempt
}

func (s *jobStates) setClaimSeen(job types.UID, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).claimAttempt = attempt
}

// readClaim is a claim and when it was read.
type readClaim struct {
	scheduler.Claim
	at time.Time
}

const (
	// claimFor is how long what was read of a claim holds, less than BlockerRefresh: the claim that a job waits
	// for is seen at the next look. Changes of pods and nodes bring many more reconciles than that.
	claimFor = 30 * time.Second
	// boundClaimFor is the same for a claim that is bound: it stays so until it is deleted.
	boundClaimFor = 10 * time.Minute
)

// claim returns what was read of a claim not long ago.
func (s *jobStates) claim(job types.UID, name string) (scheduler.Claim, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, known := s.state(job).claims[name]
	holds := claimFor
	if read.Bound {
		holds = boundClaimFor
	}
	return read.Claim, known && s.now().Sub(read.at) < holds
}

func (s *jobStates) setClaim(job types.UID, claim scheduler.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	if state.claims == nil {
		state.claims = map[string]readClaim{}
	}
	state.claims[claim.Name] = readClaim{claim, s.now()}
}

// mutatedByAdmission reports whether the API server's answer to the content of this hash differed from it.
func (s *jobStates) mutatedByAdmission(job, object types.UID, hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).mutatedByAdmission[object] == hash
}

func (s *jobStates) setMutatedByAdmission(job, object types.UID, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).mutatedByAdmission[object] = hash
}

// emitOnce reports whether an event was not emitted yet for this attempt in this process, and records that it
// is.
func (s *jobStates) emitOnce(job types.UID, attempt int32, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	if state.emittedAttempt != attempt || state.emitted == nil {
		state.emittedAttempt, state.emitted = attempt, map[string]bool{}
	}
	before := state.emitted[key]
	state.emitted[key] = true
	return !before
}

// backoff returns the backoff of this attempt and generation of a job, or nil: a changed spec is tried at
// once.
func (s *jobStates) backoff(job *v1alpha1.TrainingJob) *createBackoff {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job.UID)
	if b := state.backoff; b != nil && (b.generation != job.Generation || b.attempt != job.Status.Attempt) {
		state.backoff = nil
	}
	return state.backoff
}

// setBackoff replaces the backoff; nil ends it.
func (s *jobStates) setBackoff(job types.UID, b *createBackoff) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).backoff = b
}

// otherReason of the last decision; nil: it met none.
func (s *jobStates) otherReason(job types.UID) *observation.OtherReason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).otherReason
}

func (s *jobStates) setOtherReason(job types.UID, o *observation.OtherReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).otherReason = o
}

// objectGone takes an owned object that is gone. Where it held a name that the job of its owner's name needs,
// that job may retry now: a job that was deleted and created anew waits for the objects of its predecessor.
func (s *jobStates) objectGone(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner, ok := ownerUID(obj); ok && s.states[owner] != nil {
		delete(s.states[owner].mutatedByAdmission, obj.GetUID())
	}
	state := s.states[s.names[ownerName(obj)]]
	if state == nil || state.backoff == nil || state.backoff.holder != obj.GetUID() {
		return
	}
	retryNow := *state.backoff
	retryNow.RetryTime = time.Time{}
	state.backoff = &retryNow
}

package memory

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
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// JobStates holds what one reconcile passes to the next, for every job that exists, and that neither the
// job's status nor an object shows. A new process starts with none and gets the same answers of the API
// server again.
type JobStates struct {
	mu     sync.Mutex
	states map[types.UID]*jobState
	// names of the jobs that exist.
	names map[types.NamespacedName]types.UID
	// Now is time.Now, but in tests.
	Now func() time.Time
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
	// deviceClaims that its pods share, by name, as they were read last.
	deviceClaims map[string]readDeviceClaim
	// monitorAttempt is the attempt in which the PodMonitor was written or checked.
	monitorAttempt int32
	// emitted are the events of emittedAttempt that are emitted once.
	emitted        map[string]bool
	emittedAttempt int32
	// MutatedByAdmission holds, by object, the hash of what was applied where the API server's answer differs
	// from it: an admission plugin changed it, so applying the same at every reconcile would never end.
	mutatedByAdmission map[types.UID]string
	backoff            *Backoff
	// OtherReason is that of the last decision; see the Plan's.
	otherReason *observation.OtherReason
}

// Backoff is the Snapshot's CreateBackoff with the details of the rejection. It belongs to
// one attempt and one generation of the spec, and never changes once it is set.
type Backoff struct {
	observation.CreateBackoff
	// Rejected is the kind of what was rejected; zero where the backend does not support the gang.
	Rejected schema.GroupVersionKind
	// Holder of the name that is taken.
	Holder     types.UID
	Generation int64
	Attempt    int32
	// Retries that were rejected too.
	Retries int
}

// NewJobStates returns the states of a new process: none.
func NewJobStates() *JobStates {
	return &JobStates{
		states: map[types.UID]*jobState{}, names: map[types.NamespacedName]types.UID{}, Now: time.Now,
	}
}

// Track records that the job of this UID has the name, and drops the state of a former job of that name.
func (s *JobStates) Track(name types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if former, ok := s.names[name]; ok && former != uid {
		delete(s.states, former)
	}
	s.names[name] = uid
}

// Untrack records that no job has the name.
func (s *JobStates) Untrack(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, s.names[name])
	delete(s.names, name)
}

// Tracked returns the names of all jobs that exist.
func (s *JobStates) Tracked() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.names))
}

// state of a job, made when missing. The caller holds the lock.
func (s *JobStates) state(job types.UID) *jobState {
	state, ok := s.states[job]
	if !ok {
		state = &jobState{mutatedByAdmission: map[types.UID]string{}}
		s.states[job] = state
	}
	return state
}

// IsStale reports whether the cached job is older than our last write of its status.
func (s *JobStates) IsStale(job *v1alpha1.TrainingJob) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.state(job.UID).statusVersion
	return version != "" && olderThan(job.ResourceVersion, version)
}

// SetStatusVersion records the resourceVersion that a write of the job's status got.
func (s *JobStates) SetStatusVersion(job types.UID, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).statusVersion = version
}

// WriteConfirms is how long a write of the status replaces an uncached read: the write fails unless the job
// still has the version that it was made from. It is shorter than the time in which another leader takes over
// (leaderelection's default: 15 s).
const WriteConfirms = 3 * time.Second

// AttemptConfirmed reports whether this process has confirmed the attempt by an uncached read, or has just
// written it.
func (s *JobStates) AttemptConfirmed(job types.UID, attempt int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	if state.writtenAttempt == attempt && s.Now().Sub(state.writtenAt) < WriteConfirms {
		state.confirmedAttempt = attempt
	}
	return state.confirmedAttempt == attempt
}

// SetAttemptWritten records the attempt of a status that the API server has just accepted.
func (s *JobStates) SetAttemptWritten(job types.UID, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	state.writtenAttempt, state.writtenAt = attempt, s.Now()
}

func (s *JobStates) SetAttemptConfirmed(job types.UID, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).confirmedAttempt = attempt
}

// MonitorSeen reports whether this process has written or checked the job's PodMonitor in this attempt.
func (s *JobStates) MonitorSeen(job types.UID, attempt int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).monitorAttempt == attempt
}

func (s *JobStates) SetMonitorSeen(job types.UID, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).monitorAttempt = attempt
}

// ClaimSeen reports whether this process has seen the claim for the job's checkpoints in this attempt.
func (s *JobStates) ClaimSeen(job types.UID, attempt int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).claimAttempt == attempt
}

func (s *JobStates) SetClaimSeen(job types.UID, attempt int32) {
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
	// ClaimTTL is how long the last read of a claim is valid. It is less than BlockerRefresh, so that the next
	// refresh reads a claim for which a job waits. Changes of pods and nodes cause many more reconciles.
	ClaimTTL = 30 * time.Second
	// BoundClaimTTL is the same for a bound claim, which stays bound until it is deleted.
	BoundClaimTTL = 10 * time.Minute
)

// Claim returns the last read of a claim; false if there was none, or it is too old.
func (s *JobStates) Claim(job types.UID, name string) (scheduler.Claim, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, known := s.state(job).claims[name]
	holds := ClaimTTL
	if read.Bound {
		holds = BoundClaimTTL
	}
	return read.Claim, known && s.Now().Sub(read.at) < holds
}

func (s *JobStates) SetClaim(job types.UID, claim scheduler.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	if state.claims == nil {
		state.claims = map[string]readClaim{}
	}
	state.claims[claim.Name] = readClaim{claim, s.Now()}
}

// readDeviceClaim is a ResourceClaim and when it was read.
type readDeviceClaim struct {
	render.DeviceClaim
	at time.Time
}

// DeviceClaim returns the last read of a ResourceClaim; false if there was none, or it is too old. What a
// claim requests cannot change.
func (s *JobStates) DeviceClaim(job types.UID, name string) (render.DeviceClaim, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, known := s.state(job).deviceClaims[name]
	holds := BoundClaimTTL
	if read.Problem != "" {
		holds = ClaimTTL
	}
	return read.DeviceClaim, known && s.Now().Sub(read.at) < holds
}

func (s *JobStates) SetDeviceClaim(job types.UID, name string, claim render.DeviceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job)
	if state.deviceClaims == nil {
		state.deviceClaims = map[string]readDeviceClaim{}
	}
	state.deviceClaims[name] = readDeviceClaim{claim, s.Now()}
}

// MutatedByAdmission reports whether the API server's answer to the content of this hash differed from it.
func (s *JobStates) MutatedByAdmission(job, object types.UID, hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).mutatedByAdmission[object] == hash
}

func (s *JobStates) SetMutatedByAdmission(job, object types.UID, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).mutatedByAdmission[object] = hash
}

// EmitOnce returns true the first time that this process calls it with an attempt of a job and a key.
func (s *JobStates) EmitOnce(job types.UID, attempt int32, key string) bool {
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

// Backoff returns the backoff of this attempt and generation of a job, or nil: a changed spec is tried at
// once.
func (s *JobStates) Backoff(job *v1alpha1.TrainingJob) *Backoff {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state(job.UID)
	if b := state.backoff; b != nil && (b.Generation != job.Generation || b.Attempt != job.Status.Attempt) {
		state.backoff = nil
	}
	return state.backoff
}

// SetBackoff replaces the backoff; nil ends it.
func (s *JobStates) SetBackoff(job types.UID, b *Backoff) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).backoff = b
}

// OtherReason returns that of the last decision; nil: it had none.
func (s *JobStates) OtherReason(job types.UID) *observation.OtherReason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(job).otherReason
}

func (s *JobStates) SetOtherReason(job types.UID, o *observation.OtherReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(job).otherReason = o
}

// ObjectGone records that an owned object is deleted. If the job with its owner's name waited for the
// object's name, that job can retry now: a job that was deleted and recreated waits for the objects of its
// predecessor.
func (s *JobStates) ObjectGone(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner, ok := OwnerUID(obj); ok && s.states[owner] != nil {
		delete(s.states[owner].mutatedByAdmission, obj.GetUID())
	}
	state := s.states[s.names[OwnerName(obj)]]
	if state == nil || state.backoff == nil || state.backoff.Holder != obj.GetUID() {
		return
	}
	retryNow := *state.backoff
	retryNow.RetryTime = time.Time{}
	state.backoff = &retryNow
}

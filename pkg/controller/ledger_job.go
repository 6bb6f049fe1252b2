package controller

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// What the ledger keeps of a job itself: read-your-writes of its status, the confirmed attempt, its last refusal.

// current says whether the cached job is at least as new as our last write of it.
func (l *ledger) current(job *v1alpha1.TrainingJob) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job.UID)
	return a.statusVersion == "" || !olderThan(job.ResourceVersion, a.statusVersion)
}

// statusWritten notes the resourceVersion that a write of ours got.
func (l *ledger) statusWritten(job types.UID, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(job).statusVersion = version
}

// confirmed says whether an attempt was confirmed by an uncached read in this process.
func (l *ledger) confirmed(job types.UID, attempt int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account(job).confirmed == attempt
}

func (l *ledger) confirm(job types.UID, attempt int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(job).confirmed = attempt
}

// claimed says whether the claim of the job's checkpoints was seen in this process, in this attempt.
func (l *ledger) claimed(job types.UID, attempt int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account(job).claimed == attempt
}

func (l *ledger) claim(job types.UID, attempt int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(job).claimed = attempt
}

// stubborn says whether the API server's answer to applying the content of this hash differed from it.
func (l *ledger) stubborn(job, object types.UID, hash string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account(job).stubborn[object] == hash
}

func (l *ledger) setStubborn(job, object types.UID, hash string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(job).stubborn[object] = hash
}

// obstacleOf is the last refusal that this attempt and generation of a job met. A changed spec is tried afresh.
func (l *ledger) obstacleOf(job *v1alpha1.TrainingJob) *obstacle {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job.UID)
	if a.obstacle != nil && (a.obstacle.generation != job.Generation || a.obstacle.attempt != job.Status.Attempt) {
		a.obstacle = nil
	}
	return a.obstacle
}

// setObstacle remembers a refusal; nil clears it. An obstacle is never changed once it is set.
func (l *ledger) setObstacle(job types.UID, o *obstacle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(job).obstacle = o
}

// lift makes the time to try again come now where an object held a name that the job of its owner's name needs: of a job
// that was deleted and made anew, the new one waits for the old one's objects. The caller holds the lock.
func (l *ledger) lift(gone client.Object) {
	ref := metav1.GetControllerOfNoCopy(gone)
	uid, ok := l.names[types.NamespacedName{Namespace: gone.GetNamespace(), Name: ref.Name}]
	if !ok {
		return
	}
	if a := l.account(uid); a.obstacle != nil && a.obstacle.holder == gone.GetUID() {
		lifted := *a.obstacle
		lifted.RetryTime = time.Time{}
		a.obstacle = &lifted
	}
}

// formerPod is the first, by name, of the pods that are left of jobs which bore the name before; nil: none is left.
func (l *ledger) formerPod(job *v1alpha1.TrainingJob) *corev1.Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first *corev1.Pod
	for _, uid := range l.owners[types.NamespacedName{Namespace: job.Namespace, Name: job.Name}] {
		if uid == job.UID {
			continue
		}
		for _, h := range l.accounts[uid].seen {
			if pod, ok := asPod(h); ok && (first == nil || pod.Name < first.Name) {
				first = pod
			}
		}
	}
	return first
}

// everyone names all jobs that are known.
func (l *ledger) everyone() []types.NamespacedName {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.names))
}

// jobsOnNode names the jobs, known by name, that have a pod on the node.
func (l *ledger) jobsOnNode(node string) []types.NamespacedName {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []types.NamespacedName
	for name, uid := range l.names {
		if a, ok := l.accounts[uid]; ok && a.onNode(node) {
			names = append(names, name)
		}
	}
	return names
}

func (a *account) onNode(node string) bool {
	for _, h := range a.seen {
		if pod, ok := asPod(h); ok && pod.Spec.NodeName == node {
			return true
		}
	}
	return false
}

// tellings are what was said of one attempt.
type tellings struct {
	attempt int32
	what    map[string]bool
}

// toldBefore says whether an event was told of this attempt in this process, and notes that it is.
func (l *ledger) toldBefore(job types.UID, attempt int32, what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job)
	if a.told.attempt != attempt || a.told.what == nil {
		a.told = tellings{attempt: attempt, what: map[string]bool{}}
	}
	before := a.told.what[what]
	a.told.what[what] = true
	return before
}

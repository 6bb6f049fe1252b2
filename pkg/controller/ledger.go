package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	// overdue is how long a write of ours may stay invisible to the watch before the API server is asked about it.
	overdue = 30 * time.Second
	// maxDeparted bounds what is remembered of one job's deleted pods.
	maxDeparted = 5000
)

// ledger holds what exists of every job, by the UID of the owner: what the informers delivered, overlaid by what this
// process wrote and they do not show yet. It is fed by the informers' events and not read from an index beside them:
// the index of a shared informer changes before its deletion event is delivered, and a pass in between would see a
// preempted pod as one that vanished. Here both change in one step.
//
// The objects are the informers' own; nobody may change them.
type ledger struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// accounts by job UID; one exists while anything of the job does, or while the job is known.
	accounts map[types.UID]*account
	names    map[types.NamespacedName]types.UID
	// owners are the accounts by the name that their job has or had: more than one where a job was deleted and made anew.
	owners map[types.NamespacedName][]types.UID
}

// account is what this process knows of one job.
type account struct {
	// name of the job, once anything told it.
	name types.NamespacedName
	// known: the job itself was seen under its name and is not gone.
	known bool
	// seen is what the informers delivered last.
	seen map[types.UID]holding
	// ahead is what we wrote and the informers do not show yet.
	ahead map[types.UID]aheadOf
	// ended is what we deleted and the informers do not show as terminating yet.
	ended map[types.UID]time.Time
	// departed pods as they last were, trimmed.
	departed map[types.UID]*corev1.Pod
	// stubborn objects, by the hash of what was applied: the API server's answer differs from it (an admission plugin had
	// its way), so that applying it again at every pass would be of no use.
	stubborn map[types.UID]string
	// statusVersion is the resourceVersion that our last write of the job's status got.
	statusVersion string
	// confirmed is the attempt that an uncached read of the job confirmed.
	confirmed int32
	// claimed is the attempt whose checkpoint claim was seen to exist.
	claimed int32
	// told are the events of one attempt that are told once.
	told     tellings
	obstacle *obstacle
}

// holding is one object that a job owns.
type holding struct {
	gvk    schema.GroupVersionKind
	object client.Object
}

type aheadOf struct {
	holding
	since time.Time
}

func newLedger(c clock.PassiveClock) *ledger {
	return &ledger{clock: c, accounts: map[types.UID]*account{}, names: map[types.NamespacedName]types.UID{},
		owners: map[types.NamespacedName][]types.UID{}}
}

// account of a job UID, made when missing. The caller holds the lock.
func (l *ledger) account(uid types.UID) *account {
	a, ok := l.accounts[uid]
	if !ok {
		a = &account{
			seen:     map[types.UID]holding{},
			ahead:    map[types.UID]aheadOf{},
			ended:    map[types.UID]time.Time{},
			departed: map[types.UID]*corev1.Pod{},
			stubborn: map[types.UID]string{},
		}
		l.accounts[uid] = a
	}
	return a
}

// identify notes that a job of this UID bears the name; a former one of that name is gone.
func (l *ledger) identify(name types.NamespacedName, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if former, ok := l.names[name]; ok && former != uid {
		l.close(former)
	}
	l.names[name] = uid
	l.named(uid, name).known = true
}

// named is the account of a job whose name is known. The caller holds the lock.
func (l *ledger) named(uid types.UID, name types.NamespacedName) *account {
	a := l.account(uid)
	if a.name != name {
		a.name = name
		l.owners[name] = append(l.owners[name], uid)
	}
	return a
}

// drop an account. The caller holds the lock.
func (l *ledger) drop(uid types.UID) {
	a, ok := l.accounts[uid]
	if !ok {
		return
	}
	delete(l.accounts, uid)
	left := slices.DeleteFunc(l.owners[a.name], func(u types.UID) bool { return u == uid })
	if len(left) == 0 {
		delete(l.owners, a.name)
		return
	}
	l.owners[a.name] = left
}

// ownersOf are the jobs that have or had the name and of which something exists.
func (l *ledger) ownersOf(name types.NamespacedName) []types.UID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.owners[name])
}

// forget notes that no job bears the name any more.
func (l *ledger) forget(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uid, ok := l.names[name]; ok {
		delete(l.names, name)
		l.close(uid)
	}
}

// close drops all that is remembered of a job that is gone; what still exists of it is dropped as the informers say so.
func (l *ledger) close(uid types.UID) {
	a, ok := l.accounts[uid]
	if !ok {
		return
	}
	l.drop(uid)
	if len(a.seen) > 0 {
		l.named(uid, a.name).seen = a.seen
	}
}

// observe takes what an informer delivered.
func (l *ledger) observe(gvk schema.GroupVersionKind, obj client.Object) {
	owner, ok := ownerUID(obj)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.named(owner, types.NamespacedName{Namespace: obj.GetNamespace(), Name: metav1.GetControllerOfNoCopy(obj).Name})
	a.seen[obj.GetUID()] = holding{gvk: gvk, object: obj}
	if w, ok := a.ahead[obj.GetUID()]; ok && !olderThan(obj.GetResourceVersion(), w.object.GetResourceVersion()) {
		delete(a.ahead, obj.GetUID())
	}
	if obj.GetDeletionTimestamp() != nil {
		delete(a.ended, obj.GetUID())
	}
}

// observeGone takes a deletion that an informer delivered, with the object as it last was.
func (l *ledger) observeGone(obj client.Object) {
	owner, ok := ownerUID(obj)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lift(obj)
	a, ok := l.accounts[owner]
	if !ok {
		return
	}
	uid := obj.GetUID()
	delete(a.seen, uid)
	delete(a.ahead, uid)
	delete(a.ended, uid)
	delete(a.stubborn, uid)
	if pod, ok := obj.(*corev1.Pod); ok && len(a.departed) < maxDeparted {
		a.departed[uid] = trimDeparted(pod)
	}
	if !a.known && len(a.seen) == 0 {
		l.drop(owner)
	}
}

// wrote takes an object that the API server returned to a create or an apply of ours.
func (l *ledger) wrote(job types.UID, gvk schema.GroupVersionKind, obj client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job)
	uid := obj.GetUID()
	if _, gone := a.departed[uid]; gone {
		return // the informer was faster than the answer
	}
	if h, ok := a.seen[uid]; ok && !olderThan(h.object.GetResourceVersion(), obj.GetResourceVersion()) {
		return
	}
	a.ahead[uid] = aheadOf{holding: holding{gvk: gvk, object: obj}, since: l.clock.Now()}
}

// deleted takes the UID of an object that we deleted.
func (l *ledger) deleted(job, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job)
	_, seen := a.seen[uid]
	_, ahead := a.ahead[uid]
	if seen || ahead {
		a.ended[uid] = l.clock.Now()
	}
}

// vanished drops an object of ours that the API server, asked directly, does not have.
func (l *ledger) vanished(job, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job)
	delete(a.ahead, uid)
	delete(a.ended, uid)
}

// holdings is what exists of a job, sorted by name and UID: as the informers show it, overlaid by our own writes.
// An object that we deleted is shown as terminating. The overdue are ahead of the watch for too long; due is when the
// next one will be.
func (l *ledger) holdings(job types.UID) (all, late []holding, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job)
	now := l.clock.Now()
	all = make([]holding, 0, len(a.seen)+len(a.ahead))
	for uid, h := range a.seen {
		if _, newer := a.ahead[uid]; !newer {
			all = append(all, a.asEnded(h, now))
		}
	}
	for _, w := range a.ahead {
		all = append(all, a.asEnded(w.holding, now))
		if now.Sub(w.since) >= overdue {
			late = append(late, w.holding)
		} else if at := w.since.Add(overdue); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	slices.SortFunc(all, func(x, y holding) int {
		return cmp.Or(cmp.Compare(x.object.GetName(), y.object.GetName()), cmp.Compare(x.object.GetUID(), y.object.GetUID()))
	})
	return all, late, due
}

// asEnded shows an object that we deleted as terminating, so that it is not deleted twice; not for ever, since only the
// informer knows.
func (a *account) asEnded(h holding, now time.Time) holding {
	at, ok := a.ended[h.object.GetUID()]
	if !ok || h.object.GetDeletionTimestamp() != nil {
		return h
	}
	if now.Sub(at) >= overdue {
		delete(a.ended, h.object.GetUID())
		return h
	}
	terminating := h.object.DeepCopyObject().(client.Object)
	if pod, ok := terminating.(*corev1.Pod); ok && pod.Spec.TerminationGracePeriodSeconds != nil {
		at = at.Add(time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second) // the timestamp is the grace's end
	}
	terminating.SetDeletionTimestamp(&metav1.Time{Time: at})
	return holding{gvk: h.gvk, object: terminating}
}

// noAttempt is no attempt's label.
const noAttempt = ""

// departedPods of the attempt, by name; those of other attempts are dropped for good.
func (l *ledger) departedPods(job types.UID, attempt string) []*corev1.Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(job)
	var pods []*corev1.Pod
	for uid, pod := range a.departed {
		if pod.Labels[v1alpha1.LabelAttempt] != attempt {
			delete(a.departed, uid)
			continue
		}
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(x, y *corev1.Pod) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
	return pods
}

// ownerUID is the UID of the TrainingJob that controls an object.
func ownerUID(obj client.Object) (types.UID, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != jobKind.Kind {
		return "", false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return ref.UID, err == nil && gv.Group == jobKind.Group
}

// jobKind is the owner of everything here.
var jobKind = v1alpha1.GroupVersion.WithKind("TrainingJob")

// olderThan compares two resourceVersions of one kind; what cannot be compared is not older.
func olderThan(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// trimDeparted keeps what tells why a pod went.
func trimDeparted(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Labels: pod.Labels,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: pod.Status,
	}
}

package memory

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
	// AssumedTimeout is how long the watch may not show a write of ours before the gatherer reads the object.
	AssumedTimeout = 30 * time.Second
	// maxDeparted bounds how many deleted pods of one job are remembered.
	maxDeparted = 5000
	// NoAttempt is the label value of no attempt.
	NoAttempt = ""
)

// OwnedCache holds the objects of every job, by the UID of the owner: what the informers delivered, overlaid
// by what this process wrote and they do not show yet. It is fed by the informers' events and does not read
// their index: the index of a shared informer changes before its deletion event is delivered, and a reconcile
// in between would see a preempted pod as one that vanished. Here the object leaves and its last state
// becomes known in one step.
//
// The objects belong to the informers; callers must not change them.
type OwnedCache struct {
	clock clock.PassiveClock
	// onGone receives every owned object whose deletion is observed, in the same step in which the cache drops
	// it. It runs under the cache's lock and must not call the cache.
	onGone func(client.Object)

	mu sync.Mutex
	// jobs by UID. A job is here while any object of it exists, or while the job itself does.
	jobs map[types.UID]*ownedObjects
	// byName lists the jobs that have or had a name: more than one where a job was deleted and recreated.
	byName map[types.NamespacedName][]types.UID
}

// ownedObjects are the objects of one job.
type ownedObjects struct {
	// name of the job; empty until an event or Track sets it.
	name types.NamespacedName
	// tracked is set while the job itself exists, under its name.
	tracked bool
	// delivered is what the informers delivered last.
	delivered map[types.UID]OwnedObject
	// assumed is what we wrote and the informers do not show yet.
	assumed sparse[assumedObject]
	// deleted is when we deleted what the informers do not show as terminating yet.
	deleted sparse[time.Time]
	// departed pods as they last were, trimmed.
	departed sparse[*corev1.Pod]
}

// sparse is a map by UID that is mostly empty, and then takes no memory: Go's maps keep their capacity.
type sparse[V any] map[types.UID]V

func (s *sparse[V]) set(uid types.UID, v V) {
	if *s == nil {
		*s = sparse[V]{}
	}
	(*s)[uid] = v
}

func (s *sparse[V]) drop(uid types.UID) {
	if delete(*s, uid); len(*s) == 0 {
		*s = nil
	}
}

// NewOwnedCache returns an empty cache, which calls onGone as OwnedCache.onGone documents.
func NewOwnedCache(c clock.PassiveClock, onGone func(client.Object)) *OwnedCache {
	return &OwnedCache{
		clock: c, onGone: onGone,
		jobs: map[types.UID]*ownedObjects{}, byName: map[types.NamespacedName][]types.UID{},
	}
}

// Track records that the job of this UID has the name; a former job of that name is deleted.
func (c *OwnedCache) Track(name types.NamespacedName, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeTracked(name, uid)
	c.named(uid, name).tracked = true
}

// Untrack records that no job has the name.
func (c *OwnedCache) Untrack(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeTracked(name, "")
}

// closeTracked reduces the deleted jobs of a name, all but keep, to the objects that the informers show. Each
// leaves with its deletion event. The caller holds the lock, as for all methods below that do not take it.
func (c *OwnedCache) closeTracked(name types.NamespacedName, keep types.UID) {
	for _, uid := range slices.Clone(c.byName[name]) {
		o := c.jobs[uid]
		if uid == keep || !o.tracked {
			continue
		}
		c.drop(uid)
		if len(o.delivered) > 0 {
			c.named(uid, name).delivered = o.delivered
		}
	}
}

// job returns the entry of a UID, and makes it when missing.
func (c *OwnedCache) job(uid types.UID) *ownedObjects {
	o, ok := c.jobs[uid]
	if !ok {
		o = &ownedObjects{delivered: map[types.UID]OwnedObject{}}
		c.jobs[uid] = o
	}
	return o
}

// named is job for one whose name is known.
func (c *OwnedCache) named(uid types.UID, name types.NamespacedName) *ownedObjects {
	o := c.job(uid)
	if o.name != name {
		c.unlink(o.name, uid)
		o.name = name
		c.byName[name] = append(c.byName[name], uid)
	}
	return o
}

// drop removes the entry of a job.
func (c *OwnedCache) drop(uid types.UID) {
	if o, ok := c.jobs[uid]; ok {
		delete(c.jobs, uid)
		c.unlink(o.name, uid)
	}
}

func (c *OwnedCache) unlink(name types.NamespacedName, uid types.UID) {
	left := slices.DeleteFunc(c.byName[name], func(u types.UID) bool { return u == uid })
	if len(left) == 0 {
		delete(c.byName, name)
		return
	}
	c.byName[name] = left
}

// Observe takes an object that an informer delivered.
func (c *OwnedCache) Observe(gvk schema.GroupVersionKind, obj client.Object) {
	owner, ok := OwnerUID(obj)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.job(owner)
	if o.name.Name == "" { // the name in a later owner reference may be forged
		c.named(owner, OwnerName(obj))
	}
	uid := obj.GetUID()
	o.delivered[uid] = NewOwnedObject(gvk, obj)
	if a, ok := o.assumed[uid]; ok && !olderThan(obj.GetResourceVersion(), a.Object.GetResourceVersion()) {
		o.assumed.drop(uid)
	}
	if obj.GetDeletionTimestamp() != nil {
		o.deleted.drop(uid)
	}
}

// ObserveGone takes a deletion that an informer delivered, with the object as it last was.
func (c *OwnedCache) ObserveGone(obj client.Object) {
	owner, ok := OwnerUID(obj)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onGone(obj)
	o, ok := c.jobs[owner]
	if !ok {
		return
	}
	uid := obj.GetUID()
	delete(o.delivered, uid)
	o.assumed.drop(uid)
	o.deleted.drop(uid)
	if pod, ok := obj.(*corev1.Pod); ok && len(o.departed) < maxDeparted {
		o.departed.set(uid, trimDeparted(pod))
	}
	if !o.tracked && len(o.delivered) == 0 {
		c.drop(owner)
	}
}

// Assume takes an object that the API server returned to a create, an apply or a patch of ours.
func (c *OwnedCache) Assume(job types.UID, gvk schema.GroupVersionKind, obj client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.job(job)
	uid := obj.GetUID()
	if _, gone := o.departed[uid]; gone {
		return // the informer was faster than the answer
	}
	if d, ok := o.delivered[uid]; ok && !olderThan(d.Object.GetResourceVersion(), obj.GetResourceVersion()) {
		return
	}
	o.assumed.set(uid, assumedObject{OwnedObject: NewOwnedObject(gvk, obj), since: c.clock.Now()})
}

// AssumeDeleted takes the UID of an object that we deleted.
func (c *OwnedCache) AssumeDeleted(job, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.jobs[job]
	if !ok {
		return
	}
	_, delivered := o.delivered[uid]
	_, assumed := o.assumed[uid]
	if delivered || assumed {
		o.deleted.set(uid, c.clock.Now())
	}
}

// DropAssumed takes back what was assumed of an object.
func (c *OwnedCache) DropAssumed(job, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.jobs[job]; ok {
		o.assumed.drop(uid)
		o.deleted.drop(uid)
	}
}

// OverdueAssumed returns the objects that the watch has not shown for AssumedTimeout, and when the next one
// will be overdue; zero: none is.
func (c *OwnedCache) OverdueAssumed(job types.UID) (overdue []OwnedObject, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.jobs[job]
	if !ok {
		return nil, time.Time{}
	}
	now := c.clock.Now()
	for _, a := range o.assumed {
		if now.Sub(a.since) >= AssumedTimeout {
			overdue = append(overdue, a.OwnedObject)
		} else if at := a.since.Add(AssumedTimeout); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return overdue, next
}

// Objects returns what exists of a job, sorted by name and UID: as the informers show it, overlaid by our own
// writes. An object that we deleted is shown as terminating.
func (c *OwnedCache) Objects(job types.UID) []OwnedObject {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.jobs[job]
	if !ok {
		return nil
	}
	now := c.clock.Now()
	all := make([]OwnedObject, 0, len(o.delivered)+len(o.assumed))
	for uid, d := range o.delivered {
		if _, newer := o.assumed[uid]; !newer {
			all = append(all, o.withDeletion(d, now))
		}
	}
	for _, a := range o.assumed {
		all = append(all, o.withDeletion(a.OwnedObject, now))
	}
	slices.SortFunc(all, func(x, y OwnedObject) int {
		return cmp.Or(
			cmp.Compare(x.Object.GetName(), y.Object.GetName()), cmp.Compare(x.Object.GetUID(), y.Object.GetUID()))
	})
	return all
}

// withDeletion shows an object that we deleted as terminating, so that it is not deleted twice; for
// AssumedTimeout only, since the informer alone knows.
func (o *ownedObjects) withDeletion(obj OwnedObject, now time.Time) OwnedObject {
	at, ok := o.deleted[obj.Object.GetUID()]
	if !ok || obj.Object.GetDeletionTimestamp() != nil {
		return obj
	}
	if now.Sub(at) >= AssumedTimeout {
		o.deleted.drop(obj.Object.GetUID())
		return obj
	}
	terminating := obj.Object.DeepCopyObject().(client.Object)
	if pod, ok := terminating.(*corev1.Pod); ok && pod.Spec.TerminationGracePeriodSeconds != nil {
		// A deletionTimestamp is the end of the grace period, and a deletion raises the generation.
		grace := *pod.Spec.TerminationGracePeriodSeconds
		at = at.Add(time.Duration(grace) * time.Second)
		pod.DeletionGracePeriodSeconds = &grace
		pod.Generation++
	}
	terminating.SetDeletionTimestamp(&metav1.Time{Time: at})
	return OwnedObject{kind: obj.kind, Object: terminating}
}

// DepartedPods returns the deleted pods of an attempt in the order in which they went, and drops those of
// other attempts for good.
func (c *OwnedCache) DepartedPods(job types.UID, attempt string) []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.jobs[job]
	if !ok {
		return nil
	}
	var pods []*corev1.Pod
	for uid, pod := range o.departed {
		if pod.Labels[v1alpha1.LabelAttempt] != attempt {
			o.departed.drop(uid)
			continue
		}
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(x, y *corev1.Pod) int {
		order, err := resourceversion.CompareResourceVersion(x.ResourceVersion, y.ResourceVersion)
		if err != nil {
			order = 0
		}
		return cmp.Or(order, cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
	return pods
}

// JobsNamed returns the UIDs of the jobs that have or had the name, while anything of them exists.
func (c *OwnedCache) JobsNamed(name types.NamespacedName) []types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.byName[name])
}

// PodOfFormerJob returns the first pod, by name, that is left of a former job of the same name; nil: none is.
func (c *OwnedCache) PodOfFormerJob(job *v1alpha1.TrainingJob) *corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first *corev1.Pod
	for _, uid := range c.byName[client.ObjectKeyFromObject(job)] {
		if uid == job.UID {
			continue
		}
		for _, d := range c.jobs[uid].delivered {
			if pod, ok := d.Pod(); ok && (first == nil || pod.Name < first.Name) {
				first = pod
			}
		}
	}
	return first
}

// JobsOnNode returns the jobs that exist and have a pod on the node.
func (c *OwnedCache) JobsOnNode(node string) []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []types.NamespacedName
	for _, o := range c.jobs {
		if o.tracked && o.hasPod(func(on string) bool { return on == node }) {
			names = append(names, o.name)
		}
	}
	return names
}

// HoldsNodes reports whether a pod of a job has a node.
func (c *OwnedCache) HoldsNodes(job types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.jobs[job]
	return ok && o.hasPod(func(on string) bool { return on != "" })
}

// hasPod reports whether on is true for the node of one of the job's pods; "" stands for no node.
func (o *ownedObjects) hasPod(on func(node string) bool) bool {
	for _, d := range o.delivered {
		if pod, ok := d.Pod(); ok && on(pod.Spec.NodeName) {
			return true
		}
	}
	return false
}

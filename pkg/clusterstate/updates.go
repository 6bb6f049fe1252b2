package clusterstate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// queueKeys are the annotations and labels by which other pods name their queue; those of training jobs name
// none, their job does.
var queueKeys = []string{
	"scheduling.volcano.sh/queue-name", "volcano.sh/queue-name", "kueue.x-k8s.io/queue-name",
}

// NodesSynced records that every node that exists has been set.
func (c *Cluster) NodesSynced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodesSynced = true
}

// SetNode records a node as it is now. It keeps the object, which must be trimmed and never change. It
// reports whether the node may take other pods than before: it is new, or its labels, its taints or what it
// has are others.
func (c *Cluster) SetNode(object *corev1.Node) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.node(object.Name)
	changed = n.object == nil || !maps.Equal(n.object.Labels, object.Labels) ||
		!equality.Semantic.DeepEqual(n.object.Spec.Taints, object.Spec.Taints) ||
		!maps.Equal(n.allocatable, scheduler.AmountsOf(object.Status.Allocatable))
	n.object, n.allocatable, n.snapshot = object, scheduler.AmountsOf(object.Status.Allocatable), nil
	c.stale.nodes = true
	if changed {
		c.empty = nil
	}
	return changed
}

// DropNode records that a node is gone. Its pods are counted until they go too, since the node may come back.
func (c *Cluster) DropNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil {
		n.object, n.snapshot = nil, nil
		c.dropIfUnused(name, n)
		c.stale.nodes, c.empty = true, nil
	}
}

// node returns the entry of a name, and makes it when missing. The caller holds the lock, as for all
// unexported methods.
func (c *Cluster) node(name string) *node {
	n := c.nodes[name]
	if n == nil {
		n = &node{name: strings.Clone(name), requested: scheduler.Amounts{}}
		c.nodes[n.name] = n
	}
	return n
}

// dropIfUnused forgets a node that does not exist and has no pods.
func (c *Cluster) dropIfUnused(name string, n *node) {
	if n.object == nil && n.pods == 0 {
		delete(c.nodes, name)
	}
}

// SetPod records a pod as it is now; one that is not bound or has ended holds nothing.
func (c *Cluster) SetPod(p *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setPod(p)
}

// DropPod records that a pod of a namespace is gone.
func (c *Cluster) DropPod(namespace string, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropPod(c.scope(namespace), uid)
}

// SetPods replaces all pods of a namespace, as at the start of a watch; without a name, those of all.
func (c *Cluster) SetPods(namespace string, all []*corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	exist := make(map[types.UID]bool, len(all))
	for _, p := range all {
		exist[p.UID] = true
		c.setPod(p)
	}
	for uid := range c.pods[namespace] {
		if !exist[uid] {
			c.dropPod(namespace, uid)
		}
	}
	c.setListed(scheduler.PodKind, namespace)
}

func (c *Cluster) setPod(p *corev1.Pod) {
	scope := c.scope(p.Namespace)
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		c.dropPod(scope, p.UID)
		return
	}
	// As the scheduler counts: a pod that is resized in place holds the larger of what it has and what it wants.
	options := resourcehelper.PodResourcesOptions{UseStatusResources: true}
	amounts := scheduler.AmountsOf(resourcehelper.PodRequests(p, options))
	key := keyOf(amounts)
	old, known := c.pods[scope][p.UID]
	if known && old.requests.key == key {
		return // as for most events of a pod
	}
	c.dropPod(scope, p.UID)
	entry := pod{node: c.node(p.Spec.NodeName), requests: c.requests[key]}
	if entry.requests == nil {
		entry.requests = &requests{key: key, amounts: interned(amounts)}
		c.requests[key] = entry.requests
	}
	if holdsExtended(amounts) {
		entry.owner = c.owner(p)
	}
	if c.pods[scope] == nil {
		c.pods[strings.Clone(scope)] = map[types.UID]pod{}
	}
	c.pods[scope][types.UID(strings.Clone(string(p.UID)))] = entry
	c.count(entry, 1)
}

func (c *Cluster) dropPod(scope string, uid types.UID) {
	entry, known := c.pods[scope][uid]
	if !known {
		return
	}
	if delete(c.pods[scope], uid); len(c.pods[scope]) == 0 {
		delete(c.pods, scope)
	}
	c.count(entry, -1)
	if entry.requests.pods == 0 {
		delete(c.requests, entry.requests.key)
	}
}

// count adds a pod to the sums, with sign 1, or subtracts it, with sign -1.
func (c *Cluster) count(p pod, sign int) {
	p.requests.pods += sign
	p.node.pods += sign
	add(p.node.requested, p.requests.amounts, int64(sign))
	add(p.node.requested, scheduler.Amounts{corev1.ResourcePods: 1}, int64(sign))
	p.node.snapshot = nil
	c.stale.nodes = true
	if p.node.pods == 0 && p.node.object == nil {
		delete(c.nodes, p.node.name)
	}
	if p.owner == nil {
		return
	}
	p.owner.pods += sign
	p.owner.snapshot = nil
	add(p.owner.held, p.requests.amounts, int64(sign))
	if p.owner.on[p.node.name] == nil {
		p.owner.on[p.node.name] = scheduler.Amounts{}
	}
	add(p.owner.on[p.node.name], p.requests.amounts, int64(sign))
	if len(p.owner.on[p.node.name]) == 0 {
		delete(p.owner.on, p.node.name)
	}
	c.stale.holders = true
	if p.owner.pods == 0 {
		c.dropOwner(p.owner)
	}
}

func add(sum, amounts scheduler.Amounts, sign int64) {
	for name, n := range amounts {
		if sum[name] += sign * n; sum[name] == 0 {
			delete(sum, name)
		}
	}
}

// owner returns the entry of who owns a pod that holds extended resources, and makes it when missing.
func (c *Cluster) owner(p *corev1.Pod) *owner {
	uid, kind, name := p.UID, "Pod", p.Name
	if ref := metav1.GetControllerOf(p); ref != nil {
		uid, kind, name = ref.UID, ref.Kind, ref.Name
	}
	o := c.owners[uid]
	if o == nil {
		uid = types.UID(strings.Clone(string(uid)))
		o = &owner{
			uid: uid, kind: strings.Clone(kind), queue: strings.Clone(queueOf(p)),
			held: scheduler.Amounts{}, on: map[string]scheduler.Amounts{},
			name: types.NamespacedName{Namespace: strings.Clone(p.Namespace), Name: strings.Clone(name)},
		}
		c.owners[uid] = o
		i, _ := slices.BinarySearchFunc(c.ordered, o, (*owner).compare)
		c.ordered = slices.Insert(c.ordered, i, o)
	}
	return o
}

func (c *Cluster) dropOwner(o *owner) {
	delete(c.owners, o.uid)
	if i, found := slices.BinarySearchFunc(c.ordered, o, (*owner).compare); found {
		c.ordered = slices.Delete(c.ordered, i, i+1)
	}
}

func queueOf(p *corev1.Pod) string {
	for _, key := range queueKeys {
		if q := p.Annotations[key]; q != "" {
			return q
		}
		if q := p.Labels[key]; q != "" {
			return q
		}
	}
	return ""
}

func holdsExtended(a scheduler.Amounts) bool {
	for name := range a {
		if strings.Contains(string(name), "/") {
			return true
		}
	}
	return false
}

// keyOf returns the same key for the same amounts.
func keyOf(a scheduler.Amounts) string {
	var s strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		fmt.Fprintf(&s, "%s=%d ", name, a[name])
	}
	return s.String()
}

// interned returns amounts that share no memory with the object that they were read from.
func interned(a scheduler.Amounts) scheduler.Amounts {
	out := make(scheduler.Amounts, len(a))
	for name, n := range a {
		out[corev1.ResourceName(strings.Clone(string(name)))] = n
	}
	return out
}

// SetJob records a job as it is now.
func (c *Cluster) SetJob(name types.NamespacedName, job Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, known := c.jobs[name]
	if known && old == job {
		return
	}
	c.jobs[name] = job
	if old.Waiting {
		c.queues.remove(c.waiter(name, old))
	}
	if job.Waiting {
		c.queues.add(c.waiter(name, job))
	}
	c.stale.holders = c.stale.holders || old.Queue != job.Queue && c.holds(name)
}

// holds reports whether something of this name holds extended resources. The caller holds the lock.
func (c *Cluster) holds(name types.NamespacedName) bool {
	_, found := slices.BinarySearchFunc(c.ordered, name, func(o *owner, name types.NamespacedName) int {
		return cmp.Or(cmp.Compare(o.name.Namespace, name.Namespace), cmp.Compare(o.name.Name, name.Name))
	})
	return found
}

// DropJob records that a job is gone.
func (c *Cluster) DropJob(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.jobs[name]; old.Waiting {
		c.queues.remove(c.waiter(name, old))
	}
	delete(c.jobs, name)
}

// SetClasses replaces all priority classes.
func (c *Cluster) SetClasses(all []schedulingv1.PriorityClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.classes)
	for i := range all {
		c.setClass(&all[i])
	}
	c.classesListed = true
	c.requeueAll()
}

// SetClass records a priority class as it is now.
func (c *Cluster) SetClass(p *schedulingv1.PriorityClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setClass(p)
	c.requeueAll()
}

func (c *Cluster) setClass(p *schedulingv1.PriorityClass) {
	c.classes[p.Name] = schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Annotations: p.Annotations},
		Value:      p.Value, GlobalDefault: p.GlobalDefault, PreemptionPolicy: p.PreemptionPolicy,
	}
}

// DropClass records that a priority class is gone.
func (c *Cluster) DropClass(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.classes, name)
	c.requeueAll()
}

// requeueAll sorts all waiting jobs by the priorities that their classes have now.
func (c *Cluster) requeueAll() {
	clear(c.queues)
	for name, job := range c.jobs {
		if job.Waiting {
			w := c.waiter(name, job)
			c.queues[keyOfQueue(w)] = append(c.queues[keyOfQueue(w)], w)
		}
	}
	for _, all := range c.queues {
		slices.SortFunc(all, scheduler.Waiter.Compare)
	}
}

// SetObjects replaces all objects of a kind in a namespace; without a name, all of the kind. The kind is
// known once all that are to be seen have been set.
func (c *Cluster) SetObjects(gvk schema.GroupVersionKind, namespace string, all []client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := make(map[string]client.Object, len(all))
	for key, o := range c.objects[gvk] {
		if namespace != allNamespaces && o.GetNamespace() != namespace {
			of[key] = o
		}
	}
	for _, o := range all {
		of[client.ObjectKeyFromObject(o).String()] = o
	}
	c.objects[gvk] = of
	c.setListed(gvk, namespace)
	c.stale.objects = true
}

// SetObject records an object as it is now and returns what it was; nil: it is new. The object must never
// change.
func (c *Cluster) SetObject(gvk schema.GroupVersionKind, o client.Object) client.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[gvk] == nil {
		c.objects[gvk] = map[string]client.Object{}
	}
	key := client.ObjectKeyFromObject(o).String()
	old := c.objects[gvk][key]
	c.objects[gvk][key] = o
	c.stale.objects = true
	return old
}

// DropObject records that an object is gone.
func (c *Cluster) DropObject(gvk schema.GroupVersionKind, o client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects[gvk], client.ObjectKeyFromObject(o).String())
	c.stale.objects = true
}

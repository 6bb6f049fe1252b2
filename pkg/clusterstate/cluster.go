package clusterstate

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Job is what the state of the cluster holds of a training job.
type Job struct {
	Scheduler, Queue, PriorityClass string
	// Since is when it took its place in the queue.
	Since metav1.Time
	// Waiting is set while the job is queued and not placed.
	Waiting bool
	// ForNodes is set while it waits for other nodes than there are.
	ForNodes bool
}

// Cluster is the aggregate of what the cluster has. Its methods may be called concurrently.
type Cluster struct {
	// jobKind is the kind of training jobs: the queue of such a holder is that of the job of its name.
	jobKind string
	// namespaces are the only ones whose pods and other objects are seen; none: all.
	namespaces []string

	mu    sync.Mutex
	nodes map[string]*node
	// pods by the namespace that lists them, see scope.
	pods     map[string]map[types.UID]pod
	owners   map[types.UID]*owner
	ordered  []*owner             // by namespace and name
	requests map[string]*requests // by key
	jobs     map[types.NamespacedName]Job
	queues   queues
	classes  map[string]schedulingv1.PriorityClass
	objects  map[schema.GroupVersionKind]map[string]client.Object
	devices  devices
	// classesListed is set once the first list of the priority classes is in.
	classesListed bool
	// nodesSynced is set once the first list of the nodes is in; listed holds the scopes whose first list is in,
	// of the pods and of each kind of objects.
	nodesSynced bool
	listed      map[schema.GroupVersionKind]map[string]bool
	// followed are the kinds that Explainers ask for.
	followed map[schema.GroupVersionKind]bool

	// state as State returned it last; stale marks the parts that have changed since.
	state scheduler.ClusterState
	stale struct{ nodes, holders, objects, devices bool }
	// empty are the nodes that Empty returned last; nil after a change.
	empty []scheduler.Node
}

// node is what is known of a node, and what its pods request.
type node struct {
	name string
	// object is nil while the node does not exist: its pods may come first, and leave last.
	object      *corev1.Node
	allocatable scheduler.Amounts
	requested   scheduler.Amounts
	pods        int
	// snapshot is what State returns of it; nil after a change.
	snapshot *scheduler.Node
}

// pod is what is kept of a bound pod.
type pod struct {
	node     *node
	requests *requests
	owner    *owner // nil where the pod holds no extended resource
}

// requests is what a pod requests; pods that request the same share it.
type requests struct {
	key     string
	amounts scheduler.Amounts
	pods    int
}

// owner controls pods that hold extended resources.
type owner struct {
	uid         types.UID
	kind, queue string
	name        types.NamespacedName
	held        scheduler.Amounts
	on          map[string]scheduler.Amounts // by node
	pods        int
	// snapshot is what State returns of it; nil after a change.
	snapshot *scheduler.Holder
}

// New returns an empty Cluster. Holders of kind jobKind are in the queue of the job of their name. With
// namespaces, what others hold is never seen, and the states are Partial.
func New(jobKind string, namespaces ...string) *Cluster {
	c := &Cluster{
		jobKind:    jobKind,
		namespaces: slices.Clone(namespaces),
		nodes:      map[string]*node{},
		pods:       map[string]map[types.UID]pod{},
		owners:     map[types.UID]*owner{},
		requests:   map[string]*requests{},
		jobs:       map[types.NamespacedName]Job{},
		queues:     queues{},
		classes:    map[string]schedulingv1.PriorityClass{},
		listed:     map[schema.GroupVersionKind]map[string]bool{},
		followed:   map[schema.GroupVersionKind]bool{},
		objects:    map[schema.GroupVersionKind]map[string]client.Object{},
		devices:    newDevices(),
	}
	c.state.Partial = len(namespaces) > 0
	return c
}

// State returns the state of the moment. The caller fills in Self, Ahead, Bound and Claims.
func (c *Cluster) State() scheduler.ClusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	s.Complete = c.complete()
	if s.Shared == nil || c.stale.nodes || c.stale.holders || c.stale.objects || c.stale.devices {
		s.Shared = &scheduler.Shared{}
	}
	if c.stale.nodes {
		s.Nodes = c.listNodes()
	}
	if c.stale.holders {
		s.Holders = c.listHolders()
	}
	if c.stale.objects {
		s.Objects = c.listObjects()
	}
	if c.stale.devices {
		s.DeviceClasses = c.devices.serving()
	}
	c.stale.nodes, c.stale.holders, c.stale.objects, c.stale.devices = false, false, false, false
	return *s
}

// Objects returns what Explainers ask for, by kind. Like Empty, it serves every reconcile.
func (c *Cluster) Objects() map[schema.GroupVersionKind][]client.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale.objects {
		c.state.Objects, c.state.Shared = c.listObjects(), nil
		c.stale.objects = false
	}
	return c.state.Objects
}

// Empty returns the nodes as if no pod were on them, in no particular order, and nothing else but the
// DeviceClasses. They change only with the nodes themselves, so that every reconcile of a gang that starts
// may ask for them: the whole state changes with every pod that is bound.
func (c *Cluster) Empty() scheduler.ClusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.empty == nil {
		for _, n := range c.nodes {
			if n.object != nil {
				c.empty = append(c.empty, scheduler.Node{Node: n.object, Allocatable: n.allocatable})
			}
		}
	}
	if c.stale.devices {
		c.state.DeviceClasses, c.state.Shared = c.devices.serving(), nil
		c.stale.devices = false
	}
	return scheduler.ClusterState{
		Complete: c.complete(), Nodes: c.empty, DeviceClasses: c.state.DeviceClasses,
	}
}

// Known reports whether everything is known that is to be seen: nodes, bound pods, jobs, priority classes and
// what Explainers ask for.
func (c *Cluster) Known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for gvk := range c.followed {
		if !c.allListed(gvk) {
			return false
		}
	}
	return c.complete() && c.classesListed
}

// complete reports whether every node and every pod that is to be seen is known, and what serves devices. The
// caller holds the lock.
func (c *Cluster) complete() bool {
	return c.nodesSynced && c.allListed(scheduler.PodKind) &&
		(!c.followed[DeviceClassKind] || c.allListed(DeviceClassKind))
}

func (c *Cluster) listNodes() []scheduler.Node {
	list := make([]scheduler.Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		if n.object == nil {
			continue
		}
		if n.snapshot == nil {
			n.snapshot = &scheduler.Node{
				Node: n.object, Allocatable: n.allocatable, Requested: maps.Clone(n.requested),
			}
		}
		list = append(list, *n.snapshot)
	}
	slices.SortFunc(list, func(a, b scheduler.Node) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (c *Cluster) listHolders() []scheduler.Holder {
	list := make([]scheduler.Holder, 0, len(c.ordered))
	for _, o := range c.ordered {
		if o.snapshot == nil {
			o.snapshot = o.holder()
		}
		h := *o.snapshot
		if o.kind == c.jobKind {
			h.Queue = c.jobs[o.name].Queue
		}
		list = append(list, h)
	}
	return list
}

// holder is what State returns of an owner, with the queue that its pods name.
func (o *owner) holder() *scheduler.Holder {
	on := make(map[string]scheduler.Amounts, len(o.on))
	for name, amounts := range o.on {
		on[name] = maps.Clone(amounts)
	}
	return &scheduler.Holder{
		Kind: o.kind, Namespace: o.name.Namespace, Name: o.name.Name, Queue: o.queue, Pods: o.pods,
		Held: maps.Clone(o.held), On: on,
	}
}

func (o *owner) compare(other *owner) int {
	return cmp.Or(
		cmp.Compare(o.name.Namespace, other.name.Namespace), cmp.Compare(o.name.Name, other.name.Name),
		cmp.Compare(o.kind, other.kind), cmp.Compare(o.uid, other.uid))
}

func (c *Cluster) listObjects() map[schema.GroupVersionKind][]client.Object {
	all := make(map[schema.GroupVersionKind][]client.Object, len(c.objects))
	for gvk, objects := range c.objects {
		if !c.allListed(gvk) {
			continue
		}
		list := slices.Collect(maps.Values(objects))
		slices.SortFunc(list, func(a, b client.Object) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
		all[gvk] = list
	}
	return all
}

// waiter returns a job with the priority that its class has now. The caller holds the lock.
func (c *Cluster) waiter(name types.NamespacedName, job Job) scheduler.Waiter {
	return scheduler.Waiter{
		Namespace: name.Namespace, Name: name.Name, Scheduler: job.Scheduler, Queue: job.Queue,
		Priority: c.priority(job.PriorityClass), Since: job.Since,
	}
}

func (c *Cluster) priority(class string) int32 {
	if class != "" {
		return c.classes[class].Value
	}
	for _, p := range c.classes {
		if p.GlobalDefault {
			return p.Value
		}
	}
	return 0
}

// Class returns a priority class, with its value, its policy and its annotations; false: there is none of
// that name, or it is not known yet (see ClassesListed). Read-only.
func (c *Cluster) Class(name string) (schedulingv1.PriorityClass, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	class, known := c.classes[name]
	return class, known
}

// ClassesListed reports whether the priority classes are known.
func (c *Cluster) ClassesListed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.classesListed
}

// Waiter returns a job as it stands among those that wait.
func (c *Cluster) Waiter(name types.NamespacedName, job Job) scheduler.Waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiter(name, job)
}

// Ahead returns who is served before a waiter.
func (c *Cluster) Ahead(of scheduler.Waiter) scheduler.Ahead {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queues.ahead(of)
}

// Waiting returns the names of the jobs that wait, sorted.
func (c *Cluster) Waiting() []types.NamespacedName {
	return c.named(func(job Job) bool { return job.Waiting })
}

// WaitingForNodes returns the names of the jobs that wait for other nodes than there are, sorted.
func (c *Cluster) WaitingForNodes() []types.NamespacedName {
	return c.named(func(job Job) bool { return job.ForNodes })
}

func (c *Cluster) named(filter func(Job) bool) []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []types.NamespacedName
	for name, job := range c.jobs {
		if filter(job) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	})
	return names
}

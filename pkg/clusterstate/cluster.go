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

// Job is what others must know of a training job.
type Job struct {
	Scheduler, Queue, PriorityClass string
	Since                           metav1.Time
	// Waiting: it is queued and not placed.
	Waiting bool
}

// Cluster is the aggregate. Its methods may be called at once by many.
type Cluster struct {
	// jobKind of holders whose queue is that of the job of this name.
	jobKind string

	mu      sync.Mutex
	nodes   map[string]*node
	pods    map[types.UID]pod
	owners  map[types.UID]*owner
	needs   map[string]*need
	jobs    map[types.NamespacedName]Job
	classes map[string]schedulingv1.PriorityClass
	objects map[schema.GroupVersionKind]map[string]client.Object
	// whole: the first list of these is in.
	nodesSynced, podsSynced bool

	// facts as they were last asked for; stale says of which parts a change is not in them yet.
	facts scheduler.ClusterState
	stale struct{ nodes, holders, waiting, objects bool }
}

// node is what is known of one: an object where it exists, and what its pods request.
type node struct {
	name        string
	object      *corev1.Node
	allocatable scheduler.Amounts
	requested   scheduler.Amounts
	pods        int
	// shown is what Facts shows; nil after a change.
	shown *scheduler.Node
}

// pod is what is kept of a bound pod.
type pod struct {
	node  *node
	need  *need
	owner *owner // nil where it holds no extended resource
}

// need is what a pod requests; pods that request the same share it.
type need struct {
	key     string
	amounts scheduler.Amounts
	pods    int
}

// owner is who controls pods that hold extended resources.
type owner struct {
	kind, queue string
	name        types.NamespacedName
	held        scheduler.Amounts
	on          map[string]scheduler.Amounts // by node
	pods        int
}

// New aggregate. Holders of kind jobKind are in the queue of the job of their name.
func New(jobKind string) *Cluster {
	return &Cluster{
		jobKind: jobKind,
		nodes:   map[string]*node{}, pods: map[types.UID]pod{}, owners: map[types.UID]*owner{},
		needs: map[string]*need{},
		jobs:  map[types.NamespacedName]Job{}, classes: map[string]schedulingv1.PriorityClass{},
		objects: map[schema.GroupVersionKind]map[string]client.Object{},
	}
}

// Facts of the moment. Self, Bound and Claims are the caller's.
func (c *Cluster) State() scheduler.ClusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &c.facts
	f.Complete = c.nodesSynced && c.podsSynced
	if c.stale.nodes {
		f.Nodes = c.showNodes()
	}
	if c.stale.holders {
		f.Holders = c.showHolders()
	}
	if c.stale.waiting {
		f.Waiting = c.showWaiting()
	}
	if c.stale.objects {
		f.Objects = c.showObjects()
	}
	c.stale.nodes, c.stale.holders, c.stale.waiting, c.stale.objects = false, false, false, false
	return *f
}

func (c *Cluster) showNodes() []scheduler.Node {
	list := make([]scheduler.Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		if n.object == nil {
			continue // its pods came first
		}
		if n.shown == nil {
			n.shown = &scheduler.Node{Node: n.object, Allocatable: n.allocatable, Requested: maps.Clone(n.requested)}
		}
		list = append(list, *n.shown)
	}
	slices.SortFunc(list, func(a, b scheduler.Node) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (c *Cluster) showHolders() []scheduler.Holder {
	list := make([]scheduler.Holder, 0, len(c.owners))
	for _, o := range c.owners {
		queue := o.queue
		if o.kind == c.jobKind {
			queue = c.jobs[o.name].Queue
		}
		on := make(map[string]scheduler.Amounts, len(o.on))
		for name, amounts := range o.on {
			on[name] = maps.Clone(amounts)
		}
		list = append(list, scheduler.Holder{
			Kind: o.kind, Namespace: o.name.Namespace, Name: o.name.Name, Queue: queue, Pods: o.pods,
			Held: maps.Clone(o.held),
			On:   on,
		})
	}
	slices.SortFunc(list, func(a, b scheduler.Holder) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

func (c *Cluster) showWaiting() []scheduler.Waiter {
	var list []scheduler.Waiter
	for name, job := range c.jobs {
		if job.Waiting {
			list = append(list, c.waiter(name, job))
		}
	}
	slices.SortFunc(list, func(a, b scheduler.Waiter) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func (c *Cluster) showObjects() map[schema.GroupVersionKind][]client.Object {
	all := make(map[schema.GroupVersionKind][]client.Object, len(c.objects))
	for gvk, objects := range c.objects {
		list := slices.Collect(maps.Values(objects))
		slices.SortFunc(list, func(a, b client.Object) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
		all[gvk] = list
	}
	return all
}

// waiter with the priority that its class has now. The caller holds the lock.
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

// Waiter is a job as it stands among those that wait.
func (c *Cluster) Waiter(name types.NamespacedName, job Job) scheduler.Waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiter(name, job)
}

// Waiting jobs, by name.
func (c *Cluster) Waiting() []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []types.NamespacedName
	for name, job := range c.jobs {
		if job.Waiting {
			names = append(names, name)
		}
	}
	slices.SortFunc(names,
		func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return names
}

package kueue

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Explainer = Backend{}

var (
	localQueueKind   = kueuev1beta2.SchemeGroupVersion.WithKind("LocalQueue")
	clusterQueueKind = kueuev1beta2.SchemeGroupVersion.WithKind("ClusterQueue")
)

const (
	localQueueResource   = "localqueues.kueue.x-k8s.io/"
	clusterQueueResource = "clusterqueues.kueue.x-k8s.io/"
)

// StateKinds implements scheduler.Explainer.
func (Backend) StateKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{localQueueKind, clusterQueueKind}
}

// Matters implements scheduler.Explainer. The queues' status counts what happens in them: of it only whether they are active
// decides over reasons; the rest is told by the Workload itself.
func (Backend) Matters(before, after client.Object) bool {
	switch a := after.(type) {
	case *kueuev1beta2.LocalQueue:
		b, ok := before.(*kueuev1beta2.LocalQueue)
		return !ok || b == nil || !equality.Semantic.DeepEqual(a.Spec, b.Spec)
	case *kueuev1beta2.ClusterQueue:
		b, ok := before.(*kueuev1beta2.ClusterQueue)
		return !ok || b == nil || !equality.Semantic.DeepEqual(a.Spec, b.Spec) || inactive(a) != inactive(b)
	}
	return true
}

// inactive is why a ClusterQueue admits nothing; "" when it does.
func inactive(q *kueuev1beta2.ClusterQueue) string {
	if c := meta.FindStatusCondition(q.Status.Conditions, kueuev1beta2.ClusterQueueActive); c != nil && c.Status == metav1.ConditionFalse {
		return oneLine(c.Message)
	}
	return ""
}

// Explain implements scheduler.Explainer: a queue that is missing, stopped or of no use, those who are before the gang where the
// order is strict, and the numbers of a quota that Kueue says is too small. What it says of flavours it knows best itself. Until
// Kueue has let a gang in the nodes do not matter, and which of them count nobody knows: flavours choose them.
func (Backend) Explain(g scheduler.Gang, objs []client.Object, f scheduler.ClusterState) (scheduler.Explanation, bool) {
	wl := find(g, objs)
	if wl == nil || is(wl, kueuev1beta2.WorkloadQuotaReserved) || is(wl, kueuev1beta2.WorkloadFinished) || !active(wl) {
		return scheduler.Explanation{}, false
	}
	q, known := queuesOf(f)
	if !known {
		return scheduler.Explanation{}, false
	}
	local := q.local[client.ObjectKey{Namespace: g.Namespace, Name: g.Queue}]
	switch {
	case local == nil:
		return scheduler.Explanation{
			Reason: scheduler.ReasonQueueNotFound, Object: localQueueResource + g.Queue,
			Message: fmt.Sprintf("namespace %s has no LocalQueue %s; those of other namespaces do not serve it", g.Namespace, g.Queue),
			NextStep: fmt.Sprintf("name one that `kubectl get localqueues.kueue.x-k8s.io -n %s` lists in the label %s, or ask the admin to create %s",
				g.Namespace, QueueLabel, g.Queue),
		}, true
	case stopped(local.Spec.StopPolicy):
		return closed("LocalQueue", localQueueResource, local.Name, *local.Spec.StopPolicy), true
	}
	name := string(local.Spec.ClusterQueue)
	cluster := q.cluster[name]
	switch {
	case cluster == nil:
		return scheduler.Explanation{
			Reason: scheduler.ReasonQueueNotFound, Object: clusterQueueResource + name,
			Message:  fmt.Sprintf("LocalQueue %s leads to ClusterQueue %s, which does not exist", g.Queue, name),
			NextStep: fmt.Sprintf("name another queue in the label %s, or ask the admin to create ClusterQueue %s", QueueLabel, name),
		}, true
	case stopped(cluster.Spec.StopPolicy):
		return closed("ClusterQueue", clusterQueueResource, name, *cluster.Spec.StopPolicy), true
	case inactive(cluster) != "":
		return scheduler.Explanation{
			Reason: scheduler.ReasonQueueClosed, Object: clusterQueueResource + name,
			Message:  fmt.Sprintf("ClusterQueue %s is not active: %s", name, inactive(cluster)),
			NextStep: fmt.Sprintf("ask the admin to correct ClusterQueue %s, or name another queue in the label %s", name, QueueLabel),
		}, true
	}
	v := waiting(g, wl)
	switch v.Reason {
	case scheduler.ReasonNotJudged:
		if e, ok := behind(g, cluster, q, f); ok {
			return e, true
		}
	case scheduler.ReasonQuotaExceeded, scheduler.ReasonExceedsQuota:
		return quotaNumbers(g, v, cluster, q, f), true
	}
	return scheduler.Explanation{Reason: v.Reason, Message: v.Message, NextStep: v.NextStep}, true
}

func stopped(p *kueuev1beta2.StopPolicy) bool { return p != nil && *p != kueuev1beta2.None }

func closed(kind, resource, name string, policy kueuev1beta2.StopPolicy) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonQueueClosed, Object: resource + name,
		Message:  fmt.Sprintf("%s %s is stopped (%s): it starts no jobs", kind, name, policy),
		NextStep: fmt.Sprintf("wait until the admin sets stopPolicy of %s %s to None, or name another queue in the label %s", kind, name, QueueLabel),
	}
}

// behind: Kueue has not judged the Workload because of others. Of a StrictFIFO queue it judges the first alone; of any other none
// that is like one that it has just found not to fit (pkg/cache/queue, hashToBulkMoveReason).
func behind(g scheduler.Gang, c *kueuev1beta2.ClusterQueue, q queues, f scheduler.ClusterState) (scheduler.Explanation, bool) {
	others := c.Status.PendingWorkloads - 1
	if others < 1 {
		return scheduler.Explanation{}, false
	}
	wait := fmt.Sprintf("%d others wait", others)
	if others == 1 {
		wait = "1 other waits"
	}
	e := scheduler.Explanation{
		Reason: scheduler.ReasonWaitingBehind, Object: clusterQueueResource + c.Name,
		Message:  fmt.Sprintf("ClusterQueue %s serves strictly in order (StrictFIFO), and it is not first: %s in it", c.Name, wait),
		NextStep: fmt.Sprintf("it is tried when those before it have started; a higher priority (label %s) lets it pass them", PriorityClassLabel),
	}
	if c.Spec.QueueingStrategy == kueuev1beta2.StrictFIFO {
		return e, true
	}
	e.Message = fmt.Sprintf("%s in ClusterQueue %s, and while one of the same shape and priority does not fit Kueue tries no other", wait, c.Name)
	if short, ok := ownQuota(g, c, q, f); ok && c.Spec.CohortName == "" {
		short.NextStep, short.Message = quotaStep(g), short.Message+"; "+e.Message
		return short, true
	}
	return e, true
}

// queues of the cluster, and to which ClusterQueue a gang's leads.
type queues struct {
	local   map[client.ObjectKey]*kueuev1beta2.LocalQueue
	cluster map[string]*kueuev1beta2.ClusterQueue
}

func queuesOf(f scheduler.ClusterState) (queues, bool) {
	locals, localsKnown := f.Objects[localQueueKind]
	clusters, clustersKnown := f.Objects[clusterQueueKind]
	q := queues{local: map[client.ObjectKey]*kueuev1beta2.LocalQueue{}, cluster: map[string]*kueuev1beta2.ClusterQueue{}}
	for _, o := range locals {
		if l, ok := o.(*kueuev1beta2.LocalQueue); ok {
			q.local[client.ObjectKeyFromObject(l)] = l
		}
	}
	for _, o := range clusters {
		if c, ok := o.(*kueuev1beta2.ClusterQueue); ok {
			q.cluster[c.Name] = c
		}
	}
	return q, localsKnown && clustersKnown
}

// share says whether what a holder has may be what is missing in a ClusterQueue: it is of the same one, or of its cohort.
func (q queues) share(h scheduler.Holder, c *kueuev1beta2.ClusterQueue) bool {
	local := q.local[client.ObjectKey{Namespace: h.Namespace, Name: h.Queue}]
	if local == nil {
		return false
	}
	other := q.cluster[string(local.Spec.ClusterQueue)]
	return other != nil && (other.Name == c.Name || c.Spec.CohortName != "" && other.Spec.CohortName == c.Spec.CohortName)
}

// quotaNumbers of a quota that Kueue calls too small. They are the queue's own: what it may borrow beyond depends on its cohort,
// and Kueue's sentence, which follows, knows of that.
func quotaNumbers(g scheduler.Gang, v scheduler.Verdict, c *kueuev1beta2.ClusterQueue, q queues, f scheduler.ClusterState) scheduler.Explanation {
	e, _ := ownQuota(g, c, q, f)
	said := v.Message
	if e.Message != "" {
		said = fmt.Sprintf("%s (Kueue: %s)", e.Message, v.Message)
	}
	e.Reason, e.Object, e.Message, e.NextStep = v.Reason, clusterQueueResource+c.Name, said, v.NextStep
	if v.Reason == scheduler.ReasonExceedsQuota {
		e.Message = "it can never start: " + said
		e.NextStep = "ask for less (fewer ranks, fewer per rank, or a smaller minAvailable), or ask the admin to raise the quota or what may be borrowed"
	}
	return e
}

// ownQuota is what the gang needs, what the ClusterQueue has left of its own, and who holds the rest; true: no flavour has enough.
// Free is the most that one flavour has, for a role gets its GPUs from one. Without a message where the queue limits nothing that
// the gang needs.
func ownQuota(g scheduler.Gang, c *kueuev1beta2.ClusterQueue, q queues, f scheduler.ClusterState) (scheduler.Explanation, bool) {
	need := f.UnboundRequests(g)
	name, left, short := scarcest(need, c)
	if name == "" {
		return scheduler.Explanation{}, false
	}
	var parts []string
	var most int64
	for _, fl := range left {
		parts = append(parts, fmt.Sprintf("%s of %s in %s", amount(name, fl.free), amount(name, fl.nominal), fl.name))
		most = max(most, fl.free)
	}
	holders := f.HoldersOf(name, func(h scheduler.Holder) bool { return q.share(h, c) })
	return scheduler.Explanation{
		Reason: scheduler.ReasonQuotaExceeded, Object: clusterQueueResource + c.Name,
		Message: fmt.Sprintf("it needs %s; ClusterQueue %s has of its own free %s%s",
			scheduler.FormatAmount(name, need[name]), c.Name, strings.Join(parts, ", "), scheduler.HeldBy(name, holders)),
		Need: corev1.ResourceList{name: scheduler.Quantity(name, need[name])},
		Free: corev1.ResourceList{name: scheduler.Quantity(name, most)},
	}, short
}

// flavorLeft is what a flavour has of one resource.
type flavorLeft struct {
	name          string
	free, nominal int64
}

// scarcest of the resources that a gang needs, extended ones first: one of which no flavour has enough left, which is short, else
// the first that the queue limits at all. With what each flavour has left.
func scarcest(need scheduler.Amounts, c *kueuev1beta2.ClusterQueue) (name corev1.ResourceName, left []flavorLeft, short bool) {
	for _, candidate := range scheduler.ByImportance(need) {
		has := flavorsOf(candidate, c)
		if len(has) == 0 {
			continue
		}
		if !slices.ContainsFunc(has, func(f flavorLeft) bool { return f.free >= need[candidate] }) {
			return candidate, has, true
		}
		if name == "" {
			name, left = candidate, has
		}
	}
	return name, left, false
}

func flavorsOf(name corev1.ResourceName, c *kueuev1beta2.ClusterQueue) []flavorLeft {
	var all []flavorLeft
	for _, group := range c.Spec.ResourceGroups {
		for _, fl := range group.Flavors {
			for _, r := range fl.Resources {
				if r.Name == name {
					nominal := scheduler.AmountsOf(corev1.ResourceList{name: r.NominalQuota})[name]
					all = append(all, flavorLeft{string(fl.Name), max(0, nominal-reserved(name, fl.Name, c)), nominal})
				}
			}
		}
	}
	return all
}

func reserved(name corev1.ResourceName, flavor kueuev1beta2.ResourceFlavorReference, c *kueuev1beta2.ClusterQueue) int64 {
	for _, fl := range c.Status.FlavorsReservation {
		for _, r := range fl.Resources {
			if fl.Name == flavor && r.Name == name {
				return scheduler.AmountsOf(corev1.ResourceList{name: r.Total})[name]
			}
		}
	}
	return 0
}

func amount(name corev1.ResourceName, n int64) string {
	q := scheduler.Quantity(name, n)
	return q.String()
}

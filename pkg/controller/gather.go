package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var (
	podKind     = corev1.SchemeGroupVersion.WithKind("Pod")
	serviceKind = corev1.SchemeGroupVersion.WithKind("Service")
)

// secondOfStatus is the precision of times in a status.
const secondOfStatus = time.Second

// scene is the Snapshot together with what apply needs to carry out a plan for it.
type scene struct {
	trainingjob.Snapshot
	gang scheduler.Gang
	// groups and services of ours that exist, terminating ones too.
	groups, services []holding
	// desired objects of the scheduler's dialect; desiredErr where it has no words for this gang.
	desired    []client.Object
	desiredErr error
	// obstacle of the ledger that Snapshot.Obstacle is the face of.
	obstacle *obstacle
	// due is when a write of ours is invisible to the watch for too long.
	due time.Time
}

// blocked says that something was refused and the time to try it again has not come.
func (s *scene) blocked() bool {
	return s.CreateBackoff != nil && s.Now.Before(s.CreateBackoff.RetryTime)
}

// gather reads what Decide may know. From caches alone, but for writes of ours that the watch does not show for long.
func (r *Reconciler) gather(ctx context.Context, job *v1alpha1.TrainingJob) (*scene, error) {
	all, late, due := r.ledger.holdings(job.UID)
	if len(late) > 0 {
		if err := r.verify(ctx, job, late); err != nil {
			return nil, err
		}
		all, _, due = r.ledger.holdings(job.UID)
	}
	s := &scene{due: due, Snapshot: trainingjob.Snapshot{
		Job: job,
		// Times in status have whole seconds: what is decided from Now must be the same after a round trip.
		Now: r.clock.Now().Truncate(secondOfStatus),
	}}
	for _, h := range all {
		switch pod, ok := asPod(h); {
		case ok && trainingjob.IsResolver(pod):
			s.Resolvers = append(s.Resolvers, pod)
		case ok:
			s.Pods = append(s.Pods, pod)
		case h.gvk == serviceKind:
			s.services = append(s.services, h)
		default:
			s.groups = append(s.groups, h)
		}
	}
	attempt := fmt.Sprint(job.Status.Attempt)
	if job.Status.Phase.Finished() {
		attempt = noAttempt // nobody asks any more: they are dropped
	}
	s.Departed = r.ledger.departedPods(job.UID, attempt)
	if s.obstacle = r.ledger.obstacleOf(job); s.obstacle != nil {
		s.CreateBackoff = &s.obstacle.CreateBackoff
	}
	err := r.gatherNodes(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Backend, s.SchedulerProblem = r.availability.choose(job)
	r.gatherReport(s)
	if s.ClusterObjects, err = r.consult(ctx, s.Backend); err != nil {
		return nil, err
	}
	gatherVerdict(s)
	s.Why = r.why(ctx, s)
	return s, nil
}

// gatherVerdict asks the scheduler's dialect what it wants and what it says.
func gatherVerdict(s *scene) {
	if s.Backend == nil || s.Job.Status.Phase.Finished() || len(trainingjob.Validate(s.Job)) > 0 {
		return // there is no gang to speak of
	}
	attempt := max(s.Job.Status.Attempt, 1)
	s.gang = trainingjob.NewGang(s.Job, attempt, hasPods(s.Pods, attempt))
	s.gang.ClusterObjects = s.ClusterObjects
	s.gang.UnschedulableMessages = trainingjob.UnschedulableMessages(s.Pods, attempt)
	s.desired, s.desiredErr = s.Backend.Objects(s.gang)
	s.Verdict = s.Backend.Read(s.gang, append(s.groupObjects(), s.ClusterObjects...))
}

// groupObjects are the gang's objects that are of its scheduler's kinds.
func (s *scene) groupObjects() []client.Object { return objectsOf(s.Backend, s.groups) }

func objectsOf(b scheduler.Backend, holdings []holding) []client.Object {
	var objects []client.Object
	for _, h := range holdings {
		if slices.Contains(b.Kinds(), h.gvk) {
			objects = append(objects, h.object)
		}
	}
	return objects
}

// gatherNodes reads the nodes that the pods name.
func (r *Reconciler) gatherNodes(ctx context.Context, s *scene) error {
	s.Nodes = map[string]trainingjob.NodeState{}
	asked := map[string]bool{}
	for _, pod := range s.Pods {
		name := pod.Spec.NodeName
		if name == "" || asked[name] {
			continue
		}
		asked[name] = true
		node := &corev1.Node{}
		if err := r.client.Get(ctx, types.NamespacedName{Name: name}, node); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("reading node %s: %w", name, err)
		}
		s.Nodes[name] = trainingjob.NodeState{Ready: nodeReady(node)}
	}
	return nil
}

// verify asks the API server about writes of ours that the watch does not show: an object may have gone before the
// watch saw it. What still exists stays in the overlay, since a slow watch must not look like a lost pod.
func (r *Reconciler) verify(ctx context.Context, job *v1alpha1.TrainingJob, late []holding) error {
	for _, h := range late {
		live, err := r.live(ctx, h.gvk, h.object.GetName(), job.Namespace)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		r.ledger.vanished(job.UID, h.object.GetUID())
		if err == nil && live.GetUID() == h.object.GetUID() {
			r.ledger.wrote(job.UID, h.gvk, live)
		}
	}
	return nil
}

// live reads one object from the API server itself.
func (r *Reconciler) live(ctx context.Context, gvk schema.GroupVersionKind, name, namespace string) (client.Object, error) {
	obj, err := newObject(r.client.Scheme(), gvk)
	if err != nil {
		return nil, err
	}
	if err := r.uncached.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", gvk.Kind, name, err)
	}
	return obj, nil
}

// hasPods says whether ranks of the attempt exist.
func hasPods(pods []*corev1.Pod, attempt int32) bool {
	label := fmt.Sprint(attempt)
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Labels[v1alpha1.LabelAttempt] == label })
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func asPod(h holding) (*corev1.Pod, bool) {
	pod, ok := h.object.(*corev1.Pod)
	return pod, ok
}

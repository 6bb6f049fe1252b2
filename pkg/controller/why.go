package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// facts keeps what the cluster has, for the jobs that wait, and wakes them when a change may give them another reason.
type facts struct {
	*clusterstate.Cluster
	sources *clusterstate.Sources
	cache   manager.Manager
	wake    func(context.Context, []types.NamespacedName)
	// changed holds one token while a change has not been acted upon: many changes are one wake-up.
	changed chan struct{}
}

func newFacts(mgr manager.Manager, wake func(context.Context, []types.NamespacedName)) (*facts, error) {
	// By a client of its own: the manager's cache holds what carries our label.
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("making a client for the cluster's facts: %w", err)
	}
	f := &facts{Cluster: clusterstate.New(jobKind.Kind), cache: mgr, wake: wake, changed: make(chan struct{}, 1)}
	f.sources = clusterstate.NewSources(f.Cluster, c, func() {
		select {
		case f.changed <- struct{}{}:
		default:
		}
	})
	return f, mgr.Add(f.sources)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (f *facts) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it listens to the manager's own informers, and wakes.
func (f *facts) Start(ctx context.Context) error {
	nodes, err := f.listen(ctx, &corev1.Node{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { f.setNode(o) },
		UpdateFunc: func(_, o any) { f.setNode(o) },
		DeleteFunc: func(o any) {
			if n, ok := lastState(o).(*corev1.Node); ok {
				f.DropNode(n.Name)
			}
		},
	})
	if err != nil {
		return err
	}
	jobs, err := f.listen(ctx, &v1alpha1.TrainingJob{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { f.setJob(o) },
		UpdateFunc: func(_, o any) { f.setJob(o) },
		DeleteFunc: func(o any) {
			if j, ok := lastState(o).(*v1alpha1.TrainingJob); ok {
				f.DropJob(client.ObjectKeyFromObject(j))
			}
		},
	})
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced, jobs.HasSynced) {
		return nil // the manager ends
	}
	f.NodesWhole()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.changed:
			f.wake(ctx, f.Waiting())
		}
	}
}

func (f *facts) listen(ctx context.Context, of client.Object, handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	informer, err := f.cache.GetCache().GetInformer(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("listening to %T: %w", of, err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return nil, fmt.Errorf("listening to %T: %w", of, err)
	}
	return registration, nil
}

func lastState(o any) any {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		return gone.Obj
	}
	return o
}

func (f *facts) setNode(o any) {
	if n, ok := o.(*corev1.Node); ok {
		f.SetNode(n)
	}
}

func (f *facts) setJob(o any) {
	if j, ok := o.(*v1alpha1.TrainingJob); ok {
		f.SetJob(client.ObjectKeyFromObject(j), jobFacts(j))
	}
}

// jobFacts of a job. It is in its place since it was created: that is what schedulers that keep the place go by.
func jobFacts(job *v1alpha1.TrainingJob) clusterstate.Job {
	j := clusterstate.Job{
		Queue: trainingjob.Queue(job), PriorityClass: job.Spec.RunPolicy.SchedulingPolicy.PriorityClass, Since: job.CreationTimestamp,
		Waiting: job.Status.Phase == v1alpha1.PhaseQueued && !trainingjob.Suspended(job) && job.DeletionTimestamp.IsZero(),
	}
	if s := job.Status.Scheduling; s != nil {
		j.Scheduler = string(s.Scheduler)
	}
	if j.PriorityClass == "" {
		j.PriorityClass = trainingjob.Roles(job)[0].Template.Spec.PriorityClassName
	}
	return j
}

// why explains from the facts of the moment why the gang waits. Nothing is computed until it is asked.
func (r *Reconciler) why(ctx context.Context, s *scene) func() (scheduler.Explanation, bool) {
	if r.facts == nil || s.Backend == nil || len(s.gang.Roles) == 0 || s.Job.Status.Phase != v1alpha1.PhaseQueued {
		return nil
	}
	claims := r.claims(ctx, s)
	return sync.OnceValues(func() (scheduler.Explanation, bool) {
		f := r.facts.Facts()
		f.Self = r.facts.Waiter(client.ObjectKeyFromObject(s.Job), jobFacts(s.Job))
		f.Claims = claims
		f.Bound = map[string]int32{}
		for _, pod := range s.Pods {
			role, ok := s.gang.RoleOf(pod)
			if ok && pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
				f.Bound[role.Name]++
			}
		}
		return scheduler.Explain(s.Backend, s.gang, s.groupObjects(), s.Verdict, f)
	})
}

// bindCompleted is the annotation by which a claim's metadata alone tell that it is bound
// (k8s.io/component-helpers/storage/volume, AnnBindCompleted).
const bindCompleted = "pv.kubernetes.io/bind-completed"

// claims that the pods of a gang mount, read live and as metadata: there are few, they are needed only while a job waits
// for long, and a watch of all claims would need more rights. What cannot be read is left out.
func (r *Reconciler) claims(ctx context.Context, s *scene) []scheduler.Claim {
	if n := len(s.Job.Status.Transitions); n == 0 || s.Now.Sub(s.Job.Status.Transitions[n-1].Time.Time) < trainingjob.StatusDelay {
		return nil // a job that starts at once asks for nothing
	}
	var names []string
	for _, role := range s.gang.Roles {
		for _, v := range role.Template.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				names = append(names, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	// One that the operator makes exists from the first attempt that was let in, and may not be bound.
	if c := trainingjob.Checkpoints(s.Job); c != nil && c.URI == "" && (c.PVC.ClaimName != "" || r.ledger.claimed(s.Job.UID, s.Job.Status.Attempt)) {
		names = append(names, trainingjob.ClaimName(s.Job))
	}
	slices.Sort(names)
	var claims []scheduler.Claim
	for _, name := range slices.Compact(names) {
		claim := &metav1.PartialObjectMetadata{}
		claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		err := r.uncached.Get(ctx, types.NamespacedName{Namespace: s.Job.Namespace, Name: name}, claim)
		if client.IgnoreNotFound(err) != nil {
			log.FromContext(ctx).V(1).Info("Cannot read a claim of a job that waits", "claim", name, "error", err.Error())
			continue
		}
		claims = append(claims, scheduler.Claim{
			Name: name, Exists: !apierrors.IsNotFound(err), Bound: claim.Annotations[bindCompleted] == "yes",
		})
	}
	return claims
}

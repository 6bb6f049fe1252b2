package simtrainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// maxConcurrent is how many pods are reconciled at the same time. It is large because a reconcile may wait
// several seconds for the report server.
const maxConcurrent = 64

// Options of Run.
type Options struct {
	// StateFile is the path of the file that holds the simulator's state. Required.
	StateFile string
	// HealthAddress answers /healthz with 200 once the simulator works; empty: nothing listens.
	HealthAddress string
	// Log receives the simulator's log. Default: nothing is logged.
	Log logr.Logger
}

// Run simulates the trainers of a cluster until the context ends.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	state, err := OpenStateFile(o.StateFile)
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = fieldOwner
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	wake := make(chan event.GenericEvent, 1024)
	requestReconcile := func(key types.NamespacedName) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		select {
		case wake <- event.GenericEvent{Object: pod}:
		case <-ctx.Done():
		}
	}
	s := newSimulator(mgr.GetClient(), mgr.GetAPIReader(), state, clock.RealClock{}, requestReconcile)
	defer s.Close()
	if err := s.setUp(ctx, mgr, wake); err != nil {
		return err
	}
	if err := (provisioner{mgr.GetClient()}).setUp(mgr); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("simulating trainers: %w", err)
	}
	return nil
}

func newManager(config *rest.Config, o Options) (manager.Manager, error) {
	killed, err := labels.NewRequirement(localcluster.LabelKilled, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting dead nodes: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme, Logger: o.Log,
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: cmp.Or(o.HealthAddress, "0"), // "0": off
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Transform: trim},
			// No living node has the label, so the heartbeats of hundreds of nodes are not watched.
			&coordinationv1.Lease{}: {
				Namespaces: map[string]cache.Config{corev1.NamespaceNodeLease: {}},
				Label:      labels.NewSelector().Add(*killed),
			},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	works := healthz.Checker(func(*http.Request) error {
		select {
		case <-mgr.Elected(): // closed once the caches are filled
			return nil
		default:
			return errors.New("the caches are not full yet")
		}
	})
	return mgr, mgr.AddHealthzCheck("works", works)
}

// trim reduces pods that are not simulated to their names, to save memory.
func trim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	if isSimulated(pod) {
		pod.ManagedFields = nil
		return pod, nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}, nil
}

// setUp adds the simulator's controller and its watches to the manager.
func (s *Simulator) setUp(ctx context.Context, mgr manager.Manager, wake <-chan event.GenericEvent) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	simulated := predicate.NewPredicateFuncs(func(o client.Object) bool {
		pod, ok := o.(*corev1.Pod)
		return ok && isSimulated(pod)
	})
	c, err := controller.New("trainers", mgr, controller.Options{
		Reconciler: s, MaxConcurrentReconciles: maxConcurrent, SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return fmt.Errorf("making the controller: %w", err)
	}
	sources := []source.Source{
		source.Kind[client.Object](
			mgr.GetCache(), &corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(s.requestsForPod), simulated),
		source.Kind[client.Object](
			mgr.GetCache(), &coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(s.requestsForNode)),
		source.Channel(wake, &handler.EnqueueRequestForObject{}),
	}
	for _, src := range sources {
		if err := c.Watch(src); err != nil {
			return fmt.Errorf("watching: %w", err)
		}
	}
	return mgr.Add(manager.RunnableFunc(s.forgetGonePods))
}

// requestsForPod requests the pod and, since rank 0 depends on its peers and they on it, those of its gang.
func (s *Simulator) requestsForPod(ctx context.Context, o client.Object) []reconcile.Request {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	self := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)}
	gang := gangOf(pod)
	if gang == "" {
		return []reconcile.Request{self}
	}
	requests := sets.New(self)
	pods, err := s.cluster.gangPods(ctx, gang)
	if err != nil {
		return requests.UnsortedList()
	}
	for i := range pods {
		if isLeader(pod) || isLeader(&pods[i]) {
			requests.Insert(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pods[i])})
		}
	}
	return requests.UnsortedList()
}

// requestsForNode requests the pods on a node that was killed or revived, and their gangs.
func (s *Simulator) requestsForNode(ctx context.Context, lease client.Object) []reconcile.Request {
	pods := &corev1.PodList{}
	if err := s.client.List(ctx, pods, client.MatchingFields{indexNode: lease.GetName()}); err != nil {
		return nil
	}
	requests := sets.New[reconcile.Request]()
	for i := range pods.Items {
		requests.Insert(s.requestsForPod(ctx, &pods.Items[i])...)
	}
	return requests.UnsortedList()
}

// forgetGonePods removes the trainers of pods that went away while no simulator ran.
func (s *Simulator) forgetGonePods(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := s.client.List(ctx, pods); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	existing := sets.New[types.UID]()
	for i := range pods.Items {
		existing.Insert(pods.Items[i].UID)
	}
	var gone []types.UID
	for _, uid := range s.state.Trainers() {
		if !existing.Has(uid) {
			gone = append(gone, uid)
		}
	}
	return s.state.Forget(gone...)
}

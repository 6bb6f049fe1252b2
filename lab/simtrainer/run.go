package simtrainer

import (
	"context"
	"fmt"

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

	"net/http"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// fieldOwner of what is written to pods, and the user agent's beginning.
const fieldOwner = "localcluster-trainers"

// atOnce is how many pods are looked at at the same time: one may wait some seconds for the report server.
const atOnce = 64

// Options of Run.
type Options struct {
	// Volume is the file that holds what is saved. Required.
	Volume string
	// HealthAddress answers /healthz with 200 once the simulator works; empty: nothing listens.
	HealthAddress string
	// Log, default: nothing is said.
	Log logr.Logger
}

// Run plays the trainers of a cluster until the context ends.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	volume, err := OpenVolume(o.Volume)
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
	s := newSimulator(mgr.GetClient(), mgr.GetAPIReader(), volume, clock.RealClock{}, func(pod types.NamespacedName) {
		select {
		case wake <- event.GenericEvent{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}}:
		case <-ctx.Done():
		}
	})
	defer s.Close()
	if err := s.wire(ctx, mgr, wake); err != nil {
		return err
	}
	if err := (disks{mgr.GetClient()}).wire(mgr); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("playing trainers: %w", err)
	}
	return nil
}

func newManager(config *rest.Config, o Options) (manager.Manager, error) {
	killed, err := labels.NewRequirement(localcluster.LabelKilled, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting dead nodes: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme, Logger: o.Log, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: orOff(o.HealthAddress),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Transform: trim},
			// No living node has the label, so that the heartbeats of hundreds cost nothing here.
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
		case <-mgr.Elected(): // the caches are full
			return nil
		default:
			return fmt.Errorf("the caches are not full yet")
		}
	})
	return mgr, mgr.AddHealthzCheck("works", works)
}

func orOff(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// trim keeps whole what is played; of all other pods only their names.
func trim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	if isPlayed(pod) {
		pod.ManagedFields = nil
		return pod, nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}, nil
}

// wire says what is looked at when.
func (s *Simulator) wire(ctx context.Context, mgr manager.Manager, wake <-chan event.GenericEvent) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	played := predicate.NewPredicateFuncs(func(o client.Object) bool {
		pod, ok := o.(*corev1.Pod)
		return ok && isPlayed(pod)
	})
	c, err := controller.New("trainers", mgr, controller.Options{
		Reconciler: s, MaxConcurrentReconciles: atOnce, SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return fmt.Errorf("making the controller: %w", err)
	}
	sources := []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(s.withGang), played),
		source.Kind[client.Object](mgr.GetCache(), &coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(s.onNode)),
		source.Channel(wake, &handler.EnqueueRequestForObject{}),
	}
	for _, src := range sources {
		if err := c.Watch(src); err != nil {
			return fmt.Errorf("watching: %w", err)
		}
	}
	return mgr.Add(manager.RunnableFunc(s.forgetTheGone))
}

// index makes the indices that a Simulator's client needs.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, indexGang, func(o client.Object) []string {
		if gang := gangOf(o.(*corev1.Pod)); gang != "" {
			return []string{gang}
		}
		return nil
	})
	if err == nil {
		err = indexer.IndexField(ctx, &corev1.Pod{}, indexNode, func(o client.Object) []string {
			if pod := o.(*corev1.Pod); isPlayed(pod) && pod.Spec.NodeName != "" {
				return []string{pod.Spec.NodeName}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	return nil
}

// withGang: rank 0 must know of its peers, and they of it.
func (s *Simulator) withGang(ctx context.Context, o client.Object) []reconcile.Request {
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
	pods, err := s.gang(ctx, gang)
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

// onNode: everything on a node that was killed or revived, and the gangs of what is there.
func (s *Simulator) onNode(ctx context.Context, lease client.Object) []reconcile.Request {
	pods := &corev1.PodList{}
	if err := s.client.List(ctx, pods, client.MatchingFields{indexNode: lease.GetName()}); err != nil {
		return nil
	}
	requests := sets.New[reconcile.Request]()
	for i := range pods.Items {
		requests.Insert(s.withGang(ctx, &pods.Items[i])...)
	}
	return requests.UnsortedList()
}

// forgetTheGone, whose pods went while no simulator ran.
func (s *Simulator) forgetTheGone(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := s.client.List(ctx, pods); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	there := sets.New[types.UID]()
	for i := range pods.Items {
		there.Insert(pods.Items[i].UID)
	}
	var gone []types.UID
	for _, uid := range s.volume.Trainers() {
		if !there.Has(uid) {
			gone = append(gone, uid)
		}
	}
	return s.volume.Forget(gone...)
}

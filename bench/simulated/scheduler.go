package simulated

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/bench/simulated/apiserver"
	"mlplatform.example.com/trainingjob-operator/bench/simulated/scheduling"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
)

var (
	queues     = schedulingv1beta1.SchemeGroupVersion.WithResource("queues")
	groups     = schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups")
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
	nodes      = corev1.SchemeGroupVersion.WithResource("nodes")
	priorities = schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
)

// period between two sessions, that of Volcano's scheduler in a local cluster.
const period = 200 * time.Millisecond

// scheduler lets gangs in, binds their pods, and preempts.
type scheduler struct {
	client apiserver.Client
	state  *scheduling.State
	// priorities by class.
	priorities map[string]int32

	classes, nodes, groups, pods *apiserver.Follower
}

func newScheduler(api *apiserver.Server) (s *scheduler, err error) {
	s = &scheduler{
		client: api.Client("simulated-scheduler"), state: scheduling.NewState(), priorities: map[string]int32{},
	}
	if s.classes, err = api.Follow(priorities); err != nil {
		return nil, err
	}
	if s.nodes, err = api.Follow(nodes); err != nil {
		return nil, err
	}
	if s.groups, err = api.Follow(groups); err != nil {
		return nil, err
	}
	s.pods, err = api.Follow(pods)
	return s, err
}

// run a session in every period, until ctx ends.
func (s *scheduler) run(ctx context.Context) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := s.session(ctx); err != nil {
			return fmt.Errorf("the simulated scheduler: %w", err)
		}
	}
}

func (s *scheduler) session(ctx context.Context) error {
	for _, of := range []struct {
		from *apiserver.Follower
		see  func(apiserver.Event)
	}{{s.classes, s.seeClass}, {s.nodes, s.seeNode}, {s.groups, s.seeGroup}, {s.pods, s.seePod}} {
		if err := of.from.Read(ctx, of.see); err != nil {
			return err
		}
	}
	if !s.state.Undecided() {
		return nil
	}
	return s.write(ctx, s.state.Decide())
}

func (s *scheduler) seeClass(e apiserver.Event) {
	if class, ok := e.Object.(*schedulingv1.PriorityClass); ok {
		s.priorities[class.Name] = class.Value
	}
}

func (s *scheduler) seeNode(e apiserver.Event) {
	node, ok := e.Object.(*corev1.Node)
	if !ok {
		return
	}
	gpus := node.Status.Allocatable.Name(objects.ResourceGPU, "").Value()
	if e.Gone {
		gpus = 0
	}
	s.state.SetNode(node.Name, int(gpus))
}

// seeGroup reads what a gang wants from its group: all of its ranks are alike in this benchmark.
func (s *scheduler) seeGroup(e apiserver.Event) {
	group, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if e.Gone {
		s.state.DropGang(name(group))
		return
	}
	var typed schedulingv1beta1.PodGroup
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(group.Object, &typed); err != nil {
		return // as Volcano does not see what is no group
	}
	gang := scheduling.Gang{
		Name: name(group), UID: group.GetUID(), Priority: s.priorities[typed.Spec.PriorityClassName],
		Ranks: max(int(typed.Spec.MinMember), 1),
	}
	if wanted := typed.Spec.MinResources; wanted != nil {
		gang.GPUs = int(wanted.Name(objects.ResourceGPU, "").Value()) / gang.Ranks
	}
	s.state.SetGang(gang)
}

func (s *scheduler) seePod(e apiserver.Event) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		return
	}
	if e.Gone {
		s.state.DropPod(pod.UID)
		return
	}
	s.state.SetPod(scheduling.Pod{
		Name: name(pod), UID: pod.UID, Node: pod.Spec.NodeName, Ending: pod.DeletionTimestamp != nil,
		Gang: types.NamespacedName{
			Namespace: pod.Namespace, Name: pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey],
		},
	})
}

func (s *scheduler) write(ctx context.Context, d scheduling.Decision) error {
	for _, p := range d.Evictions {
		if err := s.evict(p); err != nil {
			return err
		}
	}
	for _, b := range d.Binds {
		if ctx.Err() != nil {
			return nil
		}
		if err := s.bind(b); err != nil {
			return err
		}
	}
	for _, p := range d.Phases {
		if ctx.Err() != nil {
			return nil
		}
		err := s.client.Update(groups, "", p.Gang.Name, p.Gang.UID, setStatus(statusOf(p)))
		if err != nil {
			return fmt.Errorf("writing the phase of group %s: %w", p.Gang.Name, err)
		}
	}
	return nil
}

// statusOf a group in a phase, as Volcano's plugin gang and the session write it.
func statusOf(p scheduling.PhaseOf) map[string]any {
	status := map[string]any{"phase": string(p.Phase)}
	if p.Phase != scheduling.Running {
		return status
	}
	status["running"] = int64(p.Gang.Ranks)
	status["conditions"] = []any{map[string]any{
		"type": string(schedulingv1beta1.PodGroupScheduled), "status": string(corev1.ConditionTrue),
		"reason": "tasks in gang are ready to be scheduled", "transitionID": string(uuid.NewUUID()),
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}
	return status
}

func setStatus(status map[string]any) func(runtime.Object) {
	return func(obj runtime.Object) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			u.Object["status"] = status
		}
	}
}

// evict a pod as Volcano does (cache/cache.go, defaultEvictor): the condition first, then the deletion.
func (s *scheduler) evict(p scheduling.Pod) error {
	err := s.client.Update(pods, "status", p.Name, p.UID, editPod(func(pod *corev1.Pod) {
		setCondition(pod, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: corev1.PodReasonPreemptionByScheduler, Message: "Pod is evicted, because of preempt",
		})
	}))
	if err != nil {
		return fmt.Errorf("marking pod %s: %w", p.Name, err)
	}
	if err := s.client.Delete(pods, p.Name, p.UID, nil); err != nil {
		return fmt.Errorf("evicting pod %s: %w", p.Name, err)
	}
	return nil
}

func (s *scheduler) bind(b scheduling.Bind) error {
	err := s.client.Update(pods, apiserver.Binding, b.Pod.Name, b.Pod.UID, editPod(func(pod *corev1.Pod) {
		pod.Spec.NodeName = b.Node
		setCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	}))
	if err != nil {
		return fmt.Errorf("binding pod %s: %w", b.Pod.Name, err)
	}
	return nil
}

func editPod(edit func(*corev1.Pod)) func(runtime.Object) {
	return func(obj runtime.Object) {
		if pod, ok := obj.(*corev1.Pod); ok {
			edit(pod)
		}
	}
}

// setCondition that a pod does not have yet.
func setCondition(pod *corev1.Pod, c corev1.PodCondition) {
	c.LastTransitionTime = metav1.NewTime(time.Now().Truncate(time.Second))
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}

func name(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

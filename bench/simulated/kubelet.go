package simulated

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"mlplatform.example.com/trainingjob-operator/bench/simulated/apiserver"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
)

// kubelet plays the nodes: they are ready, pods that are bound run, and those that are deleted go.
type kubelet struct {
	client      apiserver.Client
	nodes, pods *apiserver.Follower
	// addresses that pods were given.
	addresses int
	// failed is the first error of what was seen last.
	failed error
}

func newKubelet(api *apiserver.Server) (k *kubelet, err error) {
	k = &kubelet{client: api.Client("simulated-kubelet")}
	if k.nodes, err = api.Follow(nodes); err != nil {
		return nil, err
	}
	k.pods, err = api.Follow(pods)
	return k, err
}

func (k *kubelet) run(ctx context.Context) error {
	for {
		select {
		case <-k.nodes.Ready():
		case <-k.pods.Ready():
		case <-ctx.Done():
			return nil
		}
		if err := k.nodes.Read(ctx, k.seeNode); err != nil {
			return err
		}
		if err := k.pods.Read(ctx, k.seePod); err != nil {
			return err
		}
		if k.failed != nil {
			return fmt.Errorf("the simulated kubelet: %w", k.failed)
		}
	}
}

func (k *kubelet) note(err error) {
	if k.failed == nil {
		k.failed = err
	}
}

func (k *kubelet) seeNode(e apiserver.Event) {
	node, ok := e.Object.(*corev1.Node)
	if !ok || e.Gone || objects.NodeReady(node) {
		return
	}
	k.note(k.client.Update(nodes, "status", name(node), node.UID, func(obj runtime.Object) {
		if node, ok := obj.(*corev1.Node); ok {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				Message: "kubelet is posting ready status", LastTransitionTime: now(), LastHeartbeatTime: now(),
			})
		}
	}))
}

func (k *kubelet) seePod(e apiserver.Event) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok || e.Gone || pod.Spec.NodeName == "" {
		return
	}
	if pod.DeletionTimestamp != nil {
		k.note(k.client.Delete(pods, name(pod), pod.UID, new(int64(0))))
		return
	}
	if pod.Status.Phase == corev1.PodPending {
		k.addresses++
		address := addressOf(k.addresses)
		k.note(k.client.Update(pods, "status", name(pod), pod.UID, editPod(func(pod *corev1.Pod) {
			start(pod, address)
		})))
	}
}

// addressOf the n-th pod, in a network of 16 million.
func addressOf(n int) string { return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255) }

// start a pod: all of its containers run.
func start(pod *corev1.Pod, address string) {
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, new(now())
	pod.Status.HostIP, pod.Status.PodIP = "10.255.255.254", address
	pod.Status.HostIPs = []corev1.HostIP{{IP: pod.Status.HostIP}}
	pod.Status.PodIPs = []corev1.PodIP{{IP: address}}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady,
	} {
		setCondition(pod, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now()}},
		})
	}
}

func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

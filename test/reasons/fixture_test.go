//go:build cluster

package reasons

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// queue makes a Volcano queue with the namespace's name.
func (p *fixture) queue(edit ...func(*volcanov1beta1.Queue)) *volcanov1beta1.Queue {
	q := &volcanov1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	for _, e := range edit {
		e(q)
	}
	p.Create(q)
	p.Until("the queue is open", func(ctx context.Context) (string, error) {
		err := p.Client.Get(ctx, client.ObjectKeyFromObject(q), q)
		if err == nil && q.Status.State != volcanov1beta1.QueueStateOpen {
			return string(q.Status.State) + " not open", nil
		}
		return "", err
	})
	return q
}

func capability(n int64) func(*volcanov1beta1.Queue) {
	return func(q *volcanov1beta1.Queue) { q.Spec.Capability = gpus(n) }
}

// operate a queue as vcctl does, through a command to Volcano's controllers.
func (p *fixture) operate(q *volcanov1beta1.Queue, action string) {
	p.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
		"metadata": map[string]any{"generateName": "command-", "namespace": p.Name},
		"action":   action,
		"target": map[string]any{
			"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": q.Name,
			"uid": string(q.UID), "controller": true,
		},
	}})
}

func (p *fixture) holder(ranks int32, gpus string, edit ...func(*v1alpha1.TrainingJob)) {
	p.Job("holder", ranks, gpus, edit...)
	p.Reaches("holder", v1alpha1.PhaseRunning)
}

func (p *fixture) endHolder() {
	p.Delete(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "holder"}})
}

// quota limits the namespace's GPUs.
func (p *fixture) quota(n string) { p.limit("gpus", "requests."+gpu, n) }

// counted waits until the quota counts as many GPUs as in use. Its controller counts from a cache of pods,
// which on a busy machine can be behind those that the API server has let in: it then lets in too many.
func (p *fixture) counted(n string) {
	p.Until("the quota counts "+n+" GPUs", func(ctx context.Context) (string, error) {
		q := &corev1.ResourceQuota{}
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Name, Name: "gpus"}, q)
		if used := q.Status.Used["requests."+gpu]; used.Cmp(resource.MustParse(n)) != 0 {
			return "it counts " + used.String(), err
		}
		return "", err
	})
}

// limit a resource of the namespace by a quota.
func (p *fixture) limit(name string, of corev1.ResourceName, n string) {
	p.Create(&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(n)}},
	})
	p.Until("the quota is counted", func(ctx context.Context) (string, error) {
		q := &corev1.ResourceQuota{}
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Name, Name: name}, q)
		if err == nil && len(q.Status.Hard) == 0 {
			return "not yet", nil
		}
		return "", err
	})
}

func (p *fixture) patchNode(i int, patch string) {
	p.T.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", p.Name, i)}}
	if err := p.Client.Patch(p.T.Context(), n, client.RawPatch("application/merge-patch+json",
		[]byte(patch))); err != nil {
		p.T.Fatal(err)
	}
}

func withClaim(j *v1alpha1.TrainingJob) {
	j.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
}

func (p *fixture) claim() {
	p.Create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(""), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	})
}

// apart requires a node for each rank.
func apart(j *v1alpha1.TrainingJob) {
	j.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:   corev1.LabelHostname,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelJobName: j.Name}},
		}},
	}}
}

// failToPull simulates a kubelet that cannot pull an image.
func failToPull(p *fixture) { failToStart(p, "ErrImagePull", "not found") }

// failToConfigure simulates a kubelet that misses what a container refers to.
func failToConfigure(p *fixture) {
	failToStart(p, "CreateContainerConfigError", `secret "token" not found`)
}

// startSlowly simulates a kubelet that prepares a container for long.
func startSlowly(p *fixture) { failToStart(p, "ContainerCreating", "") }

// failToStart simulates a kubelet that cannot start a container. KWOK leaves pods alone that are Ready
// already; the node is cordoned until all of them are.
func failToStart(p *fixture, reason, message string) {
	p.patchNode(0, `{"spec":{"unschedulable":true}}`)
	p.Job("bert", 2, "1")
	p.Until("the kubelet has no image", func(ctx context.Context) (string, error) {
		pods := &corev1.PodList{}
		if err := p.Client.List(ctx, pods, client.InNamespace(p.Name)); err != nil || len(pods.Items) < 2 {
			return fmt.Sprintf("%d pods", len(pods.Items)), err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			before := pod.DeepCopy()
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
			})
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			}}
			if err := p.Client.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	p.patchNode(0, `{"spec":{"unschedulable":null}}`)
}

func (p *fixture) editGroup(name string, edit func(*volcanov1beta1.PodGroup)) {
	p.T.Helper()
	g := &volcanov1beta1.PodGroup{}
	if err := p.Client.Get(p.T.Context(), client.ObjectKey{Namespace: p.Name, Name: name}, g); err != nil {
		p.T.Fatal(err)
	}
	before := g.DeepCopy()
	edit(g)
	if err := p.Client.Patch(p.T.Context(), g, client.MergeFrom(before)); err != nil {
		p.T.Fatal(err)
	}
}

// groupsOf returns the groups of the namespace's scheduler as quotas name them.
func (p *fixture) groupsOf() corev1.ResourceName {
	group := volcanov1beta1.SchemeGroupVersion.Group
	if p.Scheduler == onNative {
		group = schedulingv1beta1.SchemeGroupVersion.Group
	}
	return corev1.ResourceName("count/podgroups." + group)
}

// loseNode of the first rank, then delete the rank: no kubelet is left to end it.
func loseNode(p *fixture) {
	p.Job("bert", 2, "8")
	p.Reaches("bert", v1alpha1.PhaseRunning)
	rank := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "bert-worker-0"}}
	if err := p.Client.Get(p.T.Context(), client.ObjectKeyFromObject(rank), rank); err != nil {
		p.T.Fatal(err)
	}
	if err := p.KillNode(p.T.Context(), rank.Spec.NodeName); err != nil {
		p.T.Fatal(err)
	}
	p.Until("the node is lost", func(ctx context.Context) (string, error) {
		n := &corev1.Node{}
		if err := p.Client.Get(ctx, client.ObjectKey{Name: rank.Spec.NodeName}, n); err != nil {
			return "", err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
				return "", nil
			}
		}
		return "it is ready", nil
	})
	p.Delete(rank)
}

// nodesAreOff declares unreachable nodes out of service, as an admin does who is sure that they are off.
func nodesAreOff(p *fixture) {
	nodes := &corev1.NodeList{}
	if err := p.Client.List(p.T.Context(), nodes, client.MatchingLabels{pool: p.Name}); err != nil {
		p.T.Fatal(err)
	}
	for _, n := range nodes.Items {
		if !slices.ContainsFunc(n.Spec.Taints,
			func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable }) {
			continue
		}
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			if err := p.Client.Get(p.T.Context(), client.ObjectKeyFromObject(&n), &n); err != nil {
				return err
			}
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService,
				Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
			return p.Client.Update(p.T.Context(), &n)
		})
		if err != nil {
			p.T.Fatal(err)
		}
	}
}

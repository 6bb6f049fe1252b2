//go:build cluster

package quotas

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// adminsTaint is on nodes with GPUs, and the operator is configured to add a toleration of it.
const adminsTaint = "example.com/gpu-node"

// TestTaintedNodes: Kueue assigns a flavor with taints only to gangs that tolerate them, so what the admin
// has configured for the pods must be in the Workload already.
func TestTaintedNodes(t *testing.T) {
	t.Parallel()
	o := withKueue(0)
	o.GPUTolerations = []corev1.Toleration{{Key: adminsTaint, Operator: corev1.TolerationOpExists}}
	w := get(t, startOnce(o))
	p := team{w.NewNamespace(t, onKueue, 0)}
	taint := corev1.Taint{Key: adminsTaint, Value: "present", Effect: corev1.TaintEffectNoSchedule}
	nodes := map[string]string{kindOfGPU: p.Name}
	p.AddNode(p.Name, nodes, taint)
	p.Create(&kueuev1beta2.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec:       kueuev1beta2.ResourceFlavorSpec{NodeLabels: nodes, NodeTaints: []corev1.Taint{taint}},
	})
	p.clusterQueue(8, func(q *kueuev1beta2.ClusterQueue) {
		q.Spec.ResourceGroups[0].Flavors[0].Name = kueuev1beta2.ResourceFlavorReference(p.Name)
	})
	p.localQueue()
	p.Job("bert", 2, "1", queued("own"), func(j *v1alpha1.TrainingJob) {
		j.Spec.NodeSelector, j.Spec.Tolerations = nil, nil
	})
	p.runs("bert", 1)
	for _, pod := range p.pods("bert") {
		if pod.Spec.NodeName != p.Name {
			t.Errorf("%s is on node %s", pod.Name, pod.Spec.NodeName)
		}
	}
}

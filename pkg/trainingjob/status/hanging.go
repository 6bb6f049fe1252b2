package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// hangingPods returns a blocker for pods whose deletion takes too long although their nodes answer.
func hangingPods(o *observation.Observation) (v1alpha1.Blocker, bool) {
	hanging := slices.DeleteFunc(slices.Clone(o.Pods), func(p *corev1.Pod) bool { return !o.Hangs(p) })
	if len(hanging) == 0 {
		return v1alpha1.Blocker{}, false
	}
	first := slices.MinFunc(hanging, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	node := first.Spec.NodeName
	b := v1alpha1.Blocker{
		Reason: v1alpha1.ReasonPodHangs,
		NextStep: fmt.Sprintf("%s shows the kubelet's messages; if a process hangs in a driver or in storage, "+
			"restart node %s, or power it off and taint it with "+
			"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", describe(first), node),
	}
	switch {
	case !observation.Ended(first):
		b.Message = fmt.Sprintf("pod %s has not ended, long after its grace period, although node %s is ready: "+
			"its rank cannot start again", first.Name, node)
	case len(first.Finalizers) > 0:
		b.Message = fmt.Sprintf("pod %s has ended, and finalizer %s keeps it", first.Name,
			observation.Line(strings.Join(first.Finalizers, ", ")))
		b.NextStep = "see why the controller of this finalizer does not remove it"
	default:
		b.Message = fmt.Sprintf("pod %s has ended, and node %s, which is ready, does not remove it", first.Name,
			node)
	}
	if n := int32(len(hanging) - 1); n > 0 {
		b.Message += fmt.Sprintf(" (and %s more)", observation.Plural(n, "pod"))
	}
	return b, true
}

// wakeForHanging plans a reconcile for when a pod will have taken too long to be deleted. Nothing else may
// happen until then.
func wakeForHanging(o *observation.Observation, p *decision.Plan) {
	for _, pod := range o.Pods {
		if at, ok := o.HangsAt(pod); ok && o.Now.Before(at) {
			p.WakeAt(at)
		}
	}
}

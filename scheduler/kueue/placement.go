package kueue

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// placementByRole returns the placement by role of an admitted Workload, as Kueue injects it into the jobs of
// its own integrations (pkg/controller/jobframework/reconciler.go, getPodSetsInfoFromStatus; pkg/podset).
// Where there is none, it returns a verdict that says why.
func placementByRole(
	g scheduler.Gang, wl *kueuev1beta2.Workload, objs []client.Object,
) (map[string]scheduler.Placement, *scheduler.Verdict) {
	placements := map[string]scheduler.Placement{}
	for _, r := range g.Roles {
		name := podSetName(r)
		a := assignmentOf(wl, name)
		if a == nil {
			continue // a role without ranks
		}
		p, missing := flavorPlacement(r, a, objs)
		if missing != "" {
			return nil, &scheduler.Verdict{
				Reason: ReasonFlavorMissing,
				Message: fmt.Sprintf("the gang is admitted on ResourceFlavor %q, which does not exist",
					missing),
				NextStep: "kubectl get resourceflavors.kueue.x-k8s.io lists those that do; an admin " +
					"must create it again or take it out of the ClusterQueue",
			}
		}
		p.Labels = queueLabels(wl)
		for _, check := range wl.Status.AdmissionChecks {
			for _, u := range check.PodSetUpdates {
				if u.Name != name {
					continue
				}
				if key := merge(&p, u); key != "" {
					return nil, conflictVerdict(fmt.Sprintf("admission check %s", check.Name), key)
				}
			}
		}
		if key := conflict(p, r.Template); key != "" {
			return nil, conflictVerdict("what Kueue adds", key)
		}
		placements[r.Name] = p
	}
	return placements, nil
}

// conflictVerdict returns the verdict on a gang whose placement contradicts its pods. Kueue fails its own
// jobs then (FailedToStart); the operator holds the gang, because an admin can resolve it.
func conflictVerdict(who, key string) *scheduler.Verdict {
	return &scheduler.Verdict{
		Reason:   ReasonPlacementConflict,
		Message:  fmt.Sprintf("%s sets %s to another value than it has", who, key),
		NextStep: "set one value for it in the job's pods, the ResourceFlavor and the admission checks",
	}
}

// flavorPlacement returns what the flavors of an assignment and its topology add to a role's pods, or the
// name of a flavor that does not exist.
func flavorPlacement(
	r scheduler.Role, a *kueuev1beta2.PodSetAssignment, objs []client.Object,
) (p scheduler.Placement, missing string) {
	flavors := slices.Compact(slices.Sorted(maps.Values(a.Flavors)))
	for _, name := range flavors {
		f := findFlavor(name, objs)
		if f == nil {
			return p, string(name)
		}
		p.NodeSelector = merged(p.NodeSelector, f.Spec.NodeLabels)
		for _, t := range f.Spec.Tolerations {
			if !slices.Contains(p.Tolerations, t) {
				p.Tolerations = append(p.Tolerations, *t.DeepCopy())
			}
		}
	}
	if a.TopologyAssignment == nil {
		return p, ""
	}
	// Kueue removes the gate when it has written the rank's node into the pod.
	p.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueuev1beta2.TopologySchedulingGate}}
	t := topologyRequest(annotationsOf(r))
	if t.Required == nil && t.Preferred == nil && t.Unconstrained == nil {
		p.Annotations = map[string]string{kueuev1beta2.PodSetUnconstrainedTopologyAnnotation: "true"}
	}
	return p, ""
}

// annotationsOf returns the annotations of the role's pods.
func annotationsOf(r scheduler.Role) map[string]string {
	if r.Template == nil {
		return nil
	}
	return r.Template.Annotations
}

// findFlavor returns the ResourceFlavor of a name, or nil.
func findFlavor(
	name kueuev1beta2.ResourceFlavorReference, objs []client.Object,
) *kueuev1beta2.ResourceFlavor {
	for _, o := range objs {
		if f, ok := o.(*kueuev1beta2.ResourceFlavor); ok && f != nil && f.Name == string(name) {
			return f
		}
	}
	return nil
}

// queueLabels returns the pod labels by which the use of a queue can be summed over pods.
func queueLabels(wl *kueuev1beta2.Workload) map[string]string {
	labels := map[string]string{localQueueLabel: string(wl.Spec.QueueName)}
	if name := string(wl.Status.Admission.ClusterQueue); len(validation.IsDNS1123Label(name)) == 0 {
		labels[clusterQueueLabel] = name
	}
	return labels
}

// merge adds the update of an admission check to a placement. If the two contradict, it returns the key and
// changes nothing.
func merge(p *scheduler.Placement, u kueuev1beta2.PodSetUpdate) string {
	template := &corev1.PodTemplateSpec{}
	template.Labels, template.Annotations, template.Spec.NodeSelector = p.Labels, p.Annotations, p.NodeSelector
	update := scheduler.Placement{Labels: u.Labels, Annotations: u.Annotations, NodeSelector: u.NodeSelector}
	if key := conflict(update, template); key != "" {
		return key
	}
	p.Labels = merged(p.Labels, u.Labels)
	p.Annotations = merged(p.Annotations, u.Annotations)
	p.NodeSelector = merged(p.NodeSelector, u.NodeSelector)
	for _, t := range u.Tolerations {
		if !slices.Contains(p.Tolerations, t) {
			p.Tolerations = append(p.Tolerations, *t.DeepCopy())
		}
	}
	return ""
}

// conflict returns the first key that the template sets to another value than the placement, or "".
func conflict(p scheduler.Placement, t *corev1.PodTemplateSpec) string {
	if t == nil {
		return ""
	}
	if key := firstDifference(t.Labels, p.Labels); key != "" {
		return "label " + key
	}
	if key := firstDifference(t.Annotations, p.Annotations); key != "" {
		return "annotation " + key
	}
	if key := firstDifference(t.Spec.NodeSelector, p.NodeSelector); key != "" {
		return "node selector " + key
	}
	return ""
}

// firstDifference returns the first key, in order, that both maps have with different values, or "".
func firstDifference(a, b map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if have, ok := a[key]; ok && have != b[key] {
			return key
		}
	}
	return ""
}

// merged returns base with the entries of additional, which win.
func merged(base, additional map[string]string) map[string]string {
	if len(additional) == 0 {
		return base
	}
	all := map[string]string{}
	maps.Copy(all, base)
	maps.Copy(all, additional)
	return all
}

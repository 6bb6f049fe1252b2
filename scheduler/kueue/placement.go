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
		p, missing := flavorPlacement(g, r, a, objs)
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
		if d := contradiction(p, r.Template); d != nil {
			return nil, conflictVerdict(r, "Kueue's placement", "the pods' own", d)
		}
		for _, check := range wl.Status.AdmissionChecks {
			for _, u := range check.PodSetUpdates {
				if u.Name != name {
					continue
				}
				added := scheduler.Placement{
					Labels: u.Labels, Annotations: u.Annotations, NodeSelector: u.NodeSelector,
				}
				who := fmt.Sprintf("admission check %s", check.Name)
				if d := contradiction(added, r.Template); d != nil {
					return nil, conflictVerdict(r, who, "the pods' own", d)
				}
				if d := contradiction(added, asTemplate(p)); d != nil {
					return nil, conflictVerdict(r, who, "the flavor's or another check's", d)
				}
				p = merge(p, u)
			}
		}
		placements[r.Name] = p
	}
	return placements, nil
}

// conflictVerdict returns the verdict on a gang whose placement contradicts its pods or itself. SyncStatus
// finishes the Workload of one that has not started.
func conflictVerdict(r scheduler.Role, who, whose string, d *difference) *scheduler.Verdict {
	return &scheduler.Verdict{
		Reason: ReasonPlacementConflict,
		Message: fmt.Sprintf("%s sets %s of %s to %q, and %s is %q",
			who, d.key, r.Name, d.added, whose, d.had),
		NextStep: conflictStep,
	}
}

const conflictStep = "set one value for it in the job's pods, the ResourceFlavor and the admission checks"

// flavorPlacement returns what the flavors of an assignment and its topology add to a role's pods, or the
// name of a flavor that does not exist.
func flavorPlacement(
	g scheduler.Gang, r scheduler.Role, a *kueuev1beta2.PodSetAssignment, objs []client.Object,
) (p scheduler.Placement, missing string) {
	flavors := slices.Compact(slices.Sorted(maps.Values(a.Flavors)))
	for _, name := range flavors {
		f := scheduler.Find[*kueuev1beta2.ResourceFlavor](objs, string(name))
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
	// By these annotations Kueue distinguishes its own pods from pods that it did not place (pkg/util/tas).
	p.Annotations = topologyOf(g, r)
	t := topologyRequest(p.Annotations)
	if t.Required == nil && t.Preferred == nil && t.Unconstrained == nil {
		p.Annotations[kueuev1beta2.PodSetUnconstrainedTopologyAnnotation] = "true"
	}
	return p, ""
}

// queueLabels returns the pod labels by which the use of a queue can be summed over pods.
func queueLabels(wl *kueuev1beta2.Workload) map[string]string {
	labels := map[string]string{localQueueLabel: string(wl.Spec.QueueName)}
	if name := string(wl.Status.Admission.ClusterQueue); len(validation.IsDNS1123Label(name)) == 0 {
		labels[clusterQueueLabel] = name
	}
	return labels
}

// merge returns the placement with the update of an admission check that does not contradict it.
func merge(p scheduler.Placement, u kueuev1beta2.PodSetUpdate) scheduler.Placement {
	p.Labels = merged(p.Labels, u.Labels)
	p.Annotations = merged(p.Annotations, u.Annotations)
	p.NodeSelector = merged(p.NodeSelector, u.NodeSelector)
	for _, t := range u.Tolerations {
		if !slices.Contains(p.Tolerations, t) {
			p.Tolerations = append(p.Tolerations, *t.DeepCopy())
		}
	}
	return p
}

// asTemplate returns a placement as a pod template, to compare it.
func asTemplate(p scheduler.Placement) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Labels, t.Annotations, t.Spec.NodeSelector = p.Labels, p.Annotations, p.NodeSelector
	return t
}

// difference is a key that two sides set to different values.
type difference struct{ key, had, added string }

// contradiction returns the first key that the template sets to another value than the placement, or nil.
func contradiction(p scheduler.Placement, t *corev1.PodTemplateSpec) *difference {
	if t == nil {
		return nil
	}
	for _, part := range []struct {
		kind       string
		had, added map[string]string
	}{
		{"label", t.Labels, p.Labels},
		{"annotation", t.Annotations, p.Annotations},
		{"node selector", t.Spec.NodeSelector, p.NodeSelector},
	} {
		for _, key := range slices.Sorted(maps.Keys(part.added)) {
			if had, ok := part.had[key]; ok && had != part.added[key] {
				return &difference{part.kind + " " + key, had, part.added[key]}
			}
		}
	}
	return nil
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

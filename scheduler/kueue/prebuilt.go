package kueue

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// PrebuiltWorkload is the annotation, and the label, of a job that names the Workload made for it by another
// controller, such as MultiKueue. Which of the two Kueue writes depends on its feature gate
// WorkloadIdentifierAnnotations, on by default, and on the length of the name
// (pkg/controller/jobframework/utils.go, SetPrebuiltWorkloadName).
const PrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name"

const (
	// ReasonPrebuiltNotFound: the Workload that the job names does not exist.
	ReasonPrebuiltNotFound = "PrebuiltWorkloadNotFound"
	// ReasonPrebuiltTaken: the Workload that the job names belongs to another job.
	ReasonPrebuiltTaken = "PrebuiltWorkloadTaken"
	// ReasonOutOfSync: the named Workload stands for other pods than the job's.
	ReasonOutOfSync = kueuev1beta2.WorkloadFinishedReasonOutOfSync
)

// prebuiltName returns the name of the Workload that was made for the gang, "" when the gang has its own.
func prebuiltName(g scheduler.Gang) string {
	if name := g.JobAnnotations[PrebuiltWorkload]; name != "" {
		return name
	}
	return g.JobLabels[PrebuiltWorkload]
}

// Adopts implements scheduler.QuotaSystem.
func (Backend) Adopts(g scheduler.Gang) (schema.GroupVersionKind, string) {
	return workloadKind, prebuiltName(g)
}

// adoptedWorkload returns the part of a prebuilt Workload that the job owns: its metadata. The spec belongs
// to its maker; MultiKueue deletes a Workload whose spec differs from its copy.
func adoptedWorkload(g scheduler.Gang) *kueuev1beta2.Workload {
	return &kueuev1beta2.Workload{
		TypeMeta:   metav1.TypeMeta{APIVersion: workloadKind.GroupVersion().String(), Kind: workloadKind.Kind},
		ObjectMeta: workloadMeta(g),
	}
}

// outOfSync returns how the gang's prebuilt Workload differs from the gang; "": it stands for the gang. It
// compares what Kueue compares (pkg/controller/jobframework/reconciler.go, EquivalentToWorkload;
// pkg/util/equality/podset.go), and the names of the pod sets, by which roles find their assignment.
func outOfSync(g scheduler.Gang, wl *kueuev1beta2.Workload) string {
	if wl == nil || wl.Name != prebuiltName(g) || len(g.Roles) == 0 {
		return ""
	}
	if a, b := wl.Spec.MaximumExecutionTimeSeconds, maxExecutionTime(g); !ptr.Equal(a, b) {
		return fmt.Sprintf("it may run for %s, the job for %s", seconds(a), seconds(b))
	}
	what := differ(wl.Spec.PodSets, podSets(asWritten(g)))
	if what == "" || differ(wl.Spec.PodSets, podSets(g)) == "" {
		return ""
	}
	return what
}

// asWritten returns the gang without what this cluster's admin adds to its pods: a prebuilt Workload may come
// from a cluster with other settings. A copy of this cluster's own Workload has the additions.
func asWritten(g scheduler.Gang) scheduler.Gang {
	g.Roles = slices.Clone(g.Roles)
	for i := range g.Roles {
		r := &g.Roles[i]
		if added := len(r.AddedTolerations); added > 0 {
			r.Template = r.Template.DeepCopy()
			all := r.Template.Spec.Tolerations
			r.Template.Spec.Tolerations = all[:len(all)-added]
		}
	}
	return g
}

// differ returns how a Workload's pod sets differ from the gang's.
func differ(have, want []kueuev1beta2.PodSet) string {
	if len(have) != len(want) {
		return fmt.Sprintf("it has %d pod sets, the job %d roles", len(have), len(want))
	}
	for i := range want {
		if what := differs(&have[i], &want[i]); what != "" {
			return what
		}
	}
	return ""
}

// differs returns how a Workload's pod set differs from the gang's.
func differs(have, want *kueuev1beta2.PodSet) string {
	mine, theirs := want.Template.Spec, quotaTemplate(&have.Template).Spec
	switch {
	case have.Name != want.Name:
		return fmt.Sprintf("it has a pod set %q where the job has %q", have.Name, want.Name)
	case have.Count != want.Count:
		return fmt.Sprintf("its pod set %q has %d pods, the job %d", have.Name, have.Count, want.Count)
	case !ptr.Equal(have.MinCount, want.MinCount):
		return fmt.Sprintf("its pod set %q has another minCount than the job's minAvailable", have.Name)
	case !equality.Semantic.DeepEqual(theirs.InitContainers, mine.InitContainers):
		return fmt.Sprintf("the init containers of its pod set %q are not the job's", have.Name)
	case !equality.Semantic.DeepEqual(theirs.Containers, mine.Containers):
		return fmt.Sprintf("the containers of its pod set %q are not the job's", have.Name)
	case !equality.Semantic.DeepEqual(theirs.Tolerations, mine.Tolerations):
		return fmt.Sprintf("the tolerations of its pod set %q are not the job's", have.Name)
	}
	return ""
}

func seconds(n *int32) string {
	if n == nil {
		return "any time"
	}
	return fmt.Sprintf("%d seconds", *n)
}

// prebuiltVerdict returns the verdict on a gang whose prebuilt Workload, nil for none, cannot stand for it,
// and false when it can.
func prebuiltVerdict(g scheduler.Gang, wl *kueuev1beta2.Workload) (scheduler.Verdict, bool) {
	name := prebuiltName(g)
	if name == "" {
		return scheduler.Verdict{}, false
	}
	const another = "create the job again with one that is made for it, or without " + PrebuiltWorkload
	v := scheduler.Verdict{Judged: true, NextStep: another}
	if wl == nil {
		v.Reason = ReasonPrebuiltNotFound
		v.Message = fmt.Sprintf("the Workload %q that %s names does not exist", name, PrebuiltWorkload)
		v.NextStep = "create the Workload, or " + another
		return v, true
	}
	switch owner := metav1.GetControllerOfNoCopy(wl); {
	case owner == nil:
		return scheduler.Verdict{
			Reason: scheduler.ReasonNotJudged, Message: fmt.Sprintf("the Workload %q becomes the job's", name),
		}, true
	case owner.UID != g.Owner.UID:
		v.Reason = ReasonPrebuiltTaken
		v.Message = fmt.Sprintf("the Workload %q that %s names belongs to %s %s",
			name, PrebuiltWorkload, owner.Kind, owner.Name)
		return v, true
	}
	if what := outOfSync(g, wl); what != "" {
		v.Reason = ReasonOutOfSync
		v.Message = fmt.Sprintf("the prebuilt Workload %q is out of sync with the job: %s", name, what)
		return v, true
	}
	return scheduler.Verdict{}, false
}

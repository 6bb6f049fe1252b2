package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Entry is one change that a watch delivered, or a remark of the test.
type Entry struct {
	At time.Time
	// Revision is the object's resourceVersion. All kinds are in one etcd, whose revisions order them. A
	// remark has the revision of the preceding entry.
	Revision int64
	// Object is a *TrainingJob, a *Pod or a scheduler's group; nil for a remark.
	Object client.Object
	// Gone marks the object's deletion.
	Gone   bool
	Remark string
}

// History of a scenario.
type History []Entry

// InOrder sorts the entries of several watches by revision.
func (h History) InOrder() History {
	h = slices.Clone(h)
	slices.SortStableFunc(h, func(a, b Entry) int { return cmp.Compare(a.Revision, b.Revision) })
	return h
}

// NewEntry returns the entry of an object that a watch delivered.
func NewEntry(obj client.Object, gone bool, at time.Time) (Entry, error) {
	revision, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return Entry{}, fmt.Errorf("reading the resourceVersion of %s: %w", obj.GetName(), err)
	}
	return Entry{At: at, Revision: revision, Object: obj, Gone: gone}, nil
}

// String has one line for each visible change of an object.
func (h History) String() string {
	var b strings.Builder
	last := map[types.UID]string{}
	for _, e := range h {
		line := e.Remark
		if e.Object != nil {
			line = describe(e.Object)
			if e.Gone {
				line = fmt.Sprintf("%s %s is gone", kindOf(e.Object), e.Object.GetName())
			}
			if last[e.Object.GetUID()] == line {
				continue
			}
			last[e.Object.GetUID()] = line
		} else {
			line = "# " + line
		}
		fmt.Fprintf(&b, "%8.3fs %s\n", e.At.Sub(h[0].At).Seconds(), line)
	}
	return b.String()
}

// FallsBack says where the latest checkpoint of a job's status became an older one; "" if nowhere.
func (h History) FallsBack(job types.UID) string {
	newest := int64(0)
	for _, e := range h.InOrder() {
		o, ok := e.Object.(*v1alpha1.TrainingJob)
		if !ok || o.UID != job || o.Status.Checkpoint == nil || o.Status.Checkpoint.Latest == nil {
			continue
		}
		step := o.Status.Checkpoint.Latest.Step
		if step < newest {
			return fmt.Sprintf("its latest checkpoint falls back from step %d to step %d", newest, step)
		}
		newest = step
	}
	return ""
}

// Starts counts the attempts of a job of which a rank was created.
func (h History) Starts(job types.UID) int32 {
	attempts := map[int32]bool{}
	for _, e := range h {
		if pod, ok := e.Object.(*corev1.Pod); ok && JobOf(pod) == job {
			attempts[AttemptOf(pod)] = true
		}
	}
	return int32(len(attempts))
}

func kindOf(obj client.Object) string {
	switch obj.(type) {
	case *v1alpha1.TrainingJob:
		return "job"
	case *corev1.Pod:
		return "pod"
	}
	return "group"
}

func describe(obj client.Object) string {
	switch o := obj.(type) {
	case *v1alpha1.TrainingJob:
		st := o.Status
		line := fmt.Sprintf("job %s: %s attempt=%d gang=%s restarts=%d preemptions=%d", o.Name,
			cmp.Or(string(st.Phase), "new"), st.Attempt, cmp.Or(st.Gang, "-"), st.Restarts, st.Preemptions)
		if class := o.Spec.RunPolicy.SchedulingPolicy.PriorityClass; class != "" {
			line += " class=" + class
		}
		if s := st.Scheduling; s != nil && s.Blocker != nil {
			line += " blocker=" + s.Blocker.Reason
		}
		if s := st.Scheduling; s != nil && s.Preemption != nil {
			line += fmt.Sprintf(" plan=%s/%s", s.Preemption.Outcome, s.Preemption.Phase)
			for _, v := range s.Preemption.Victims {
				line += fmt.Sprintf(",%s/%d", v.Name, v.Attempt)
			}
		}
		if d := st.Drain; d != nil {
			line += " drain=" + string(d.Cause)
		}
		if c := st.Checkpoint; c != nil && c.Latest != nil {
			line += fmt.Sprintf(" saved=%d", c.Latest.Step)
		}
		return line + " | " + st.Message
	case *corev1.Pod:
		line := fmt.Sprintf("pod %s of attempt %s: %s", o.Name, cmp.Or(o.Labels[v1alpha1.LabelAttempt], "?"),
			o.Status.Phase)
		if from, _ := ResumeOf(o); from != "" {
			line += " from " + from
		}
		if o.Spec.NodeName != "" {
			line += " on " + o.Spec.NodeName
		}
		if o.DeletionTimestamp != nil {
			line += ", ending"
		}
		for _, c := range o.Status.Conditions {
			if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
				line += ", " + c.Reason
			}
		}
		return line
	}
	line := "group " + obj.GetName() + stateOfGroup(obj)
	if obj.GetDeletionTimestamp() != nil {
		line += ", ending"
	}
	return line
}

// stateOfGroup is what a group of any dialect says of itself: its phase, and its conditions that are true.
func stateOfGroup(obj client.Object) string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return ""
	}
	var words []string
	if phase, _, _ := unstructured.NestedString(content, "status", "phase"); phase != "" {
		words = append(words, phase)
	}
	conditions, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["status"] == string(metav1.ConditionTrue) {
			words = append(words, fmt.Sprint(c["type"]))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}

// GPU is the resource that scenarios use.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// GPUsOf returns the GPUs that a pod requests.
func GPUsOf(pod *corev1.Pod) int64 {
	var n int64
	for i := range pod.Spec.Containers {
		q := pod.Spec.Containers[i].Resources.Requests[GPU]
		n += q.Value()
	}
	return n
}

// Live reports whether a pod has not ended.
func Live(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// AttemptOf returns the attempt in a pod's label; 0 if it has none.
func AttemptOf(pod *corev1.Pod) int32 {
	n, _ := strconv.ParseInt(pod.Labels[v1alpha1.LabelAttempt], 10, 32)
	return int32(n)
}

// ResumeOf returns the checkpoint that a rank's trainer is given to resume from. It is false for a trainer
// without checkpoints.
func ResumeOf(pod *corev1.Pod) (string, bool) {
	for i := range pod.Spec.Containers {
		for _, e := range pod.Spec.Containers[i].Env {
			if e.Name == checkpoint.EnvResume {
				return e.Value, true
			}
		}
	}
	return "", false
}

// ResumePath returns the persisted resume point as a trainer sees it, with the volume mounted at the default
// path; "" for a start from scratch.
func ResumePath(job *v1alpha1.TrainingJob) string {
	cs := job.Status.Checkpoint
	if cs == nil || cs.ResumeFrom == nil {
		return ""
	}
	return strings.Replace(cs.ResumeFrom.URI, "pvc://"+spec.ClaimName(job), "/checkpoints", 1)
}

// JobOf returns the UID of the job that owns an object.
func JobOf(obj client.Object) types.UID {
	if ref := metav1.GetControllerOf(obj); ref != nil && ref.Kind == "TrainingJob" {
		return ref.UID
	}
	return ""
}

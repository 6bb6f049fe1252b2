package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// violationCase is a history in the order of its revisions, and what is wrong with it.
type violationCase struct {
	reason  string
	history []client.Object
	// gone: the entries that are deletions.
	gone map[int]bool
	want []string
}

func violationCases() map[string]violationCase {
	running, queued := v1alpha1.PhaseRunning, v1alpha1.PhaseQueued
	invited := aGroup(1, fakescheduler.Invited)
	return map[string]violationCase{
		"a gang that runs": {
			reason: "nothing to complain about",
			history: []client.Object{aJob(queued, 1), invited, aPod("0", 1, ""), aPod("1", 1, ""),
				aPod("0", 1, "n"), aPod("1", 1, "n")},
		},
		"a pod before the attempt is persisted": {
			reason:  "after a crash its attempt would be unknown",
			history: []client.Object{aJob(queued, 1), aGroup(2, fakescheduler.Invited), aPod("0", 2, "")},
			want:    []string{"pod bert-worker-0 is created for attempt 2 while attempt 1 is persisted"},
		},
		"a pod while the job drains": {
			reason:  "the attempt is over",
			history: []client.Object{aJob(v1alpha1.PhaseDraining, 1), invited, aPod("0", 1, "")},
			want:    []string{"pod bert-worker-0 is created while job bert is Draining"},
		},
		"two attempts side by side": {
			reason: "ranks of both would train against each other",
			history: []client.Object{aJob(queued, 1), invited, aPod("0", 1, "n"),
				aJob(queued, 2), aGroup(2, fakescheduler.Invited), aPod("1", 2, "")},
			want: []string{"pod bert-worker-1 of attempt 2 is created while pod bert-worker-0 of attempt 1 lives"},
		},
		"the next attempt after the last": {
			reason: "the pod of the last attempt is gone",
			history: []client.Object{aJob(queued, 1), invited, aPod("0", 1, "n"), aPod("0", 1, "n"),
				aJob(queued, 2), aGroup(2, fakescheduler.Invited), aPod("1", 2, "")},
			gone: map[int]bool{3: true},
		},
		"a pod under Hold": {
			reason:  "a queued job costs nothing",
			history: []client.Object{aJob(queued, 1), aGroup(1, fakescheduler.Queued), aPod("0", 1, "")},
			want:    []string{"pod bert-worker-0 is created though fake says Hold: the scheduler's words"},
		},
		"a pod without a group": {
			reason:  "the scheduler must know the gang first",
			history: []client.Object{aJob(queued, 1), aPod("0", 1, "")},
			want:    []string{"pod bert-worker-0 is created though fake says Hold: it has no group"},
		},
		"more GPUs than the node has": {
			reason: "three pods of 4 on a node of 8",
			history: []client.Object{aJob(running, 1), invited, aPod("0", 1, "n"), aPod("1", 1, "n"),
				aPod("2", 1, "n")},
			want: []string{"pod bert-worker-2 is bound to n: 12 of its 8 GPUs are in use"},
		},
		"suspended with a pod": {
			reason:  "it holds quota",
			history: []client.Object{aJob(running, 1), invited, aPod("0", 1, "n"), aJob(v1alpha1.PhaseSuspended, 1)},
			want:    []string{"job bert is Suspended while pod bert-worker-0 lives"},
		},
		"resumes from what is persisted": {
			reason: "no violation",
			history: []client.Object{savedJob(queued, 2, 100), aGroup(2, fakescheduler.Invited),
				resumingFrom("0", 2, 100), resumingFrom("1", 2, 100)},
		},
		"a rank without the resume point": {
			reason: "it would start from step 0, unlike the others",
			history: []client.Object{savedJob(queued, 2, 100), aGroup(2, fakescheduler.Invited),
				resumingFrom("0", 2, 100), resumingFrom("1", 2, 0)},
			want: []string{
				`pod bert-worker-1 is given "" to resume from while "/checkpoints/attempt-1/step-100" is persisted`,
			},
		},
		"given before it is persisted": {
			reason:  "after a crash the others would be given another one",
			history: []client.Object{aJob(queued, 2), aGroup(2, fakescheduler.Invited), resumingFrom("0", 2, 100)},
			want: []string{
				`pod bert-worker-0 is given "/checkpoints/attempt-1/step-100" to resume from while "" is persisted`,
			},
		},
		"a search when all have ended": {
			reason: "nothing to complain about",
			history: []client.Object{aJob(running, 1), invited, aPod("0", 1, "n"), aPod("0", 1, "n"),
				aJob(v1alpha1.PhaseDraining, 1), aSearch(1)},
			gone: map[int]bool{3: true},
		},
		"a search while a rank lives": {
			reason: "it could save what the search does not see",
			history: []client.Object{aJob(running, 1), invited, aPod("0", 1, "n"),
				aJob(v1alpha1.PhaseDraining, 1), aSearch(1)},
			want: []string{"pod bert-resolve searches while pod bert-worker-0 of attempt 1 lives"},
		},
		"a search of a job that does not drain": {
			reason:  "its resume point is pinned",
			history: []client.Object{aJob(queued, 2), aSearch(1)},
			want:    []string{"pod bert-resolve searches for attempt 1 while job bert is Queued, attempt 2"},
		},
		"a success": {
			reason: "its rank was through before it was deleted",
			history: []client.Object{aJob(running, 1), invited, aPod("0", 1, "n"), through("0", 1, false),
				through("0", 1, true), aJob(v1alpha1.PhaseSucceeded, 1)},
		},
		"a success of a rank that obeyed": {
			reason: "exit 0 after a deletion is a loss",
			history: []client.Object{aJob(running, 1), invited, aPod("0", 1, "n"), through("0", 1, true),
				aJob(v1alpha1.PhaseSucceeded, 1)},
			want: []string{"job bert is Succeeded, and only 0 of 1 ranks of attempt 1 succeeded before they were " +
				"stopped"},
		},
		"back from the dead": {
			reason:  "final phases absorb",
			history: []client.Object{aJob(v1alpha1.PhaseFailed, 2), aJob(running, 1)},
			want: []string{
				"job bert was Failed and is Running: a final phase is not final",
				"job bert falls back from attempt 2 to 1",
			},
		},
	}
}

// A rule that nothing can break proves nothing: each is broken here.
func TestViolations(t *testing.T) {
	for name, tc := range violationCases() {
		t.Run(name, func(t *testing.T) {
			var h History
			for i, obj := range tc.history {
				obj = obj.DeepCopyObject().(client.Object)
				obj.SetResourceVersion(fmt.Sprint(100 + i))
				e, err := NewEntry(obj, tc.gone[i], time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				h = append(History{e}, h...) // the order of arrival does not matter
			}
			rules := Rules{Capacity: map[string]int64{"n": 8}, Backend: fakescheduler.Backend{}}
			if diff := cmp.Diff(tc.want, rules.Violations(h)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, h.InOrder())
			}
		})
	}
}

// TestRaces: a pod that was decided on may arrive just after the scheduler has taken its invitation back, or
// after the last of its peers, next to which it needs none, has ended.
func TestRaces(t *testing.T) {
	begin := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		// The scheduler takes its invitation back at once; the last peer goes at peerGone, if there is one.
		races, after, peerGone time.Duration
		says                   string
	}{
		"a pod that was on its way": {races: 2 * time.Second, after: time.Second},
		"too late": {
			races: 2 * time.Second, after: 3 * time.Second, says: "(it asked for the pod until 3s before)",
		},
		"where there are no races":    {after: time.Second, says: "fake says Hold"},
		"its last peer has just gone": {races: 2 * time.Second, after: 10 * time.Second, peerGone: 9 * time.Second},
		"its last peer went long ago": {
			races: 2 * time.Second, after: 10 * time.Second, peerGone: 5 * time.Second,
			says: "(the attempt's last pod went 5s before)",
		},
		"where there are no races with peers": {
			after: 10 * time.Second, peerGone: 9 * time.Second, says: "fake says Hold",
		},
	} {
		entries := []Entry{{Object: aJob(v1alpha1.PhaseQueued, 1)}, {Object: aGroup(1, fakescheduler.Invited)}}
		if tc.peerGone > 0 {
			entries = append(entries, Entry{Object: aPod("1", 1, "")})
		}
		entries = append(entries, Entry{Object: aGroup(1, fakescheduler.Queued)})
		if tc.peerGone > 0 {
			entries = append(entries, Entry{Object: aPod("1", 1, ""), Gone: true, At: begin.Add(tc.peerGone)})
		}
		entries = append(entries, Entry{Object: aPod("0", 1, ""), At: begin.Add(tc.after)})
		var h History
		for i, entry := range entries {
			entry.Revision = int64(i)
			if entry.At.IsZero() {
				entry.At = begin
			}
			h = append(h, entry)
		}
		rules := Rules{Backend: fakescheduler.Backend{}, Races: tc.races}
		found := rules.Violations(h)
		as := len(found) == 0
		if tc.says != "" {
			as = len(found) == 1 && strings.Contains(found[0], tc.says)
		}
		if !as {
			t.Errorf("%s: found %q, want %q", name, found, tc.says)
		}
	}
}

func TestEverBound(t *testing.T) {
	var h History
	for _, obj := range []client.Object{aPod("0", 1, "n"), aPod("1", 2, "n"), aPod("2", 2, ""),
		aPod("1", 2, "n")} {
		h = append(h, Entry{Object: obj})
	}
	if diff := cmp.Diff([]string{"bert-worker-1"}, h.EverBound(jobUID, 2)); diff != "" {
		t.Error(diff)
	}
}

const jobUID types.UID = "job"

func aJob(phase v1alpha1.Phase, attempt int32) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "ns", UID: jobUID},
		Spec: v1alpha1.TrainingJobSpec{Framework: v1alpha1.FrameworkCustom, Image: "i",
			Command: []string{"c"}},
		Status: v1alpha1.TrainingJobStatus{Phase: phase, Attempt: attempt},
	}
}

func owned(name string, uid types.UID) metav1.ObjectMeta {
	owner := metav1.NewControllerRef(aJob("", 0), v1alpha1.GroupVersion.WithKind("TrainingJob"))
	return metav1.ObjectMeta{Name: name, Namespace: "ns", UID: uid,
		OwnerReferences: []metav1.OwnerReference{*owner}}
}

func aPod(index string, attempt int, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: owned("bert-worker-"+index, types.UID(fmt.Sprint("pod-", index, "-", attempt)))}
	p.Labels = map[string]string{v1alpha1.LabelAttempt: fmt.Sprint(attempt)}
	p.Spec.NodeName = node
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{GPU: resource.MustParse("4")},
	}}}
	return p
}

// through is a pod that has exited 0, and is deleted.
func through(index string, attempt int, deleted bool) *corev1.Pod {
	p := aPod(index, attempt, "n")
	p.Status.Phase = corev1.PodSucceeded
	if deleted {
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		p.Finalizers = []string{"example.com/f"}
	}
	return p
}

// savedJob is pinned to the checkpoint of a step of attempt 1.
func savedJob(phase v1alpha1.Phase, attempt int32, step int64) *v1alpha1.TrainingJob {
	j := aJob(phase, attempt)
	j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{}
	j.Status.Checkpoint = &v1alpha1.CheckpointStatus{ResumeFrom: &v1alpha1.CheckpointPoint{
		URI: fmt.Sprintf("pvc://bert-checkpoints/attempt-1/step-%d", step), Step: step,
	}}
	return j
}

// resumingFrom returns a pod whose trainer is given the checkpoint of a step; 0: none.
func resumingFrom(index string, attempt int, step int64) *corev1.Pod {
	p := aPod(index, attempt, "")
	e := corev1.EnvVar{Name: checkpoint.EnvResume}
	if step > 0 {
		e.Value = fmt.Sprintf("/checkpoints/attempt-1/step-%d", step)
	}
	p.Spec.Containers[0].Env = []corev1.EnvVar{e}
	return p
}

// aSearch of the volume of an attempt.
func aSearch(attempt int) *corev1.Pod {
	p := aPod("resolve", attempt, "")
	p.Name = "bert-resolve"
	p.Labels[v1alpha1.LabelComponent] = v1alpha1.ComponentResolver
	return p
}

func aGroup(attempt int64, phase fakescheduler.Phase) client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(fakescheduler.Backend{}.Kinds()[0])
	meta := owned("bert", "group")
	u.SetName(meta.Name)
	u.SetNamespace(meta.Namespace)
	u.SetUID(meta.UID)
	u.SetOwnerReferences(meta.OwnerReferences)
	fakescheduler.SetStatus(u, fakescheduler.Status{Attempt: attempt, Phase: phase, Reason: "R",
		Message: "the scheduler's words"})
	return u
}

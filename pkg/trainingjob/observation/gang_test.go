package observation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// dialect is a backend whose group is named after the attempt.
type dialect struct {
	scheduler.Backend
	unsupported field.ErrorList
	err         error
}

func (d dialect) Validate(scheduler.Gang) field.ErrorList { return d.unsupported }

func (d dialect) Objects(g scheduler.Gang) ([]client.Object, error) {
	if d.err != nil {
		return nil, d.err
	}
	name := g.Name
	if g.Attempt > 1 {
		name += "-again"
	}
	return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}}, nil
}

func TestDescribeGang(t *testing.T) {
	invalid := func(j *v1alpha1.TrainingJob) { j.Spec.Image = "" }
	finished := func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseSucceeded }
	unknownRole := func(j *v1alpha1.TrainingJob) {
		j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{"Boss": {}}
	}
	unsupported := field.ErrorList{field.Forbidden(field.NewPath("spec"), "it has no queues")}
	cannotRender := errors.New("too large")
	// described is what of a Gang the cases tell apart.
	type described struct{ invalid, unsupported, gang, computed, failed, wanted bool }
	cases := map[string]struct {
		reason  string
		job     *v1alpha1.TrainingJob
		backend scheduler.Backend
		want    described
	}{
		"valid": {
			"the objects are known", jobtest.New(2), dialect{},
			described{gang: true, computed: true, wanted: true},
		},
		"invalid": {
			"what exists can be read, but not what should exist", jobtest.New(2, invalid), dialect{},
			described{invalid: true, gang: true},
		},
		"unsupported": {
			"the dialect cannot express the gang, but can read it",
			jobtest.New(2), dialect{unsupported: unsupported},
			described{unsupported: true, gang: true},
		},
		"not rendered": {
			"an error of the dialect is no empty list of objects", jobtest.New(2), dialect{err: cannotRender},
			described{gang: true, computed: true, failed: true},
		},
		"no backend": {
			"the job is validated without a scheduler", jobtest.New(2, invalid), nil,
			described{invalid: true},
		},
		"no known role": {
			"a gang has roles", jobtest.New(2, unknownRole), dialect{},
			described{invalid: true},
		},
		"finished": {
			"a finished job has no gang, and its spec no longer matters", jobtest.New(2, invalid, finished),
			dialect{}, described{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := DescribeGang(c.job, c.backend, nil, nil, nil, false)
			got := described{
				invalid: len(g.Invalid) > 0, unsupported: len(g.Unsupported) > 0, gang: g.Gang != nil,
				computed: g.Computed, failed: g.WantedErr != nil, wanted: len(g.Wanted) > 0,
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(described{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if want := len(g.Invalid) + len(g.Unsupported); len(g.Errors()) != want {
				t.Errorf("%d errors, want %d", len(g.Errors()), want)
			}
			if g.WantedErr != nil && !errors.Is(g.WantedErr, cannotRender) {
				t.Errorf("error %v, want %v", g.WantedErr, cannotRender)
			}
		})
	}
}

// TestDescribeGangOfAttempt checks which attempt is described, and what is known of its pods.
func TestDescribeGangOfAttempt(t *testing.T) {
	pod := func(attempt string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			v1alpha1.LabelAttempt: attempt,
		}}}
	}
	cases := map[string]struct {
		reason  string
		attempt int32
		pods    []*corev1.Pod
		want    int32
		hasPods bool
	}{
		"before the first": {"the first attempt is described ahead of its queueing", 0, nil, 1, false},
		"without pods":     {"pods of another attempt do not count", 2, []*corev1.Pod{pod("1")}, 2, false},
		"with pods":        {"one is enough", 2, []*corev1.Pod{pod("1"), pod("2")}, 2, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job := jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Status.Attempt = c.attempt })
			g := DescribeGang(job, dialect{}, c.pods, nil, nil, false).Gang
			if g.Attempt != c.want || g.HasPods != c.hasPods {
				t.Errorf("%s: attempt %d, has pods %t; want %d, %t",
					c.reason, g.Attempt, g.HasPods, c.want, c.hasPods)
			}
		})
	}
}

// TestDescribeGangMadeBefore: an edit that makes the spec of a submitted gang invalid changes nothing of the
// gang that exists.
func TestDescribeGangMadeBefore(t *testing.T) {
	submitted := func(j *v1alpha1.TrainingJob) {
		j.Status.Attempt, j.Status.MinAvailable = 1, 3
		j.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.RoleWorker: {Replicas: 4}}
		j.Status.Scheduling = &v1alpha1.SchedulingStatus{Group: "bert-5f2c", Queue: "research"}
	}
	edited := func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(5))
		j.Spec.RunPolicy.SchedulingPolicy.Queue = "other"
	}
	g := DescribeGang(jobtest.New(2, submitted, edited), dialect{}, nil, nil, nil, false)
	if !g.Known() || len(g.Invalid) == 0 || g.Computed {
		t.Fatalf("known %t, computed %t, errors %v; want a known gang that is not computed again",
			g.Known(), g.Computed, g.Invalid)
	}
	if g.Gang.Ranks() != 4 || g.Gang.MinAvailable != 3 || g.Gang.Queue != "research" ||
		g.Gang.Submitted != "bert-5f2c" {
		t.Errorf("got %d ranks, minAvailable %d, queue %q, submitted as %q; want 4, 3, research, bert-5f2c",
			g.Gang.Ranks(), g.Gang.MinAvailable, g.Gang.Queue, g.Gang.Submitted)
	}
	g = DescribeGang(jobtest.New(2, edited), dialect{}, nil, nil, nil, false)
	if g.Known() || g.MadeFrom != nil {
		t.Error("a job that was never submitted has no gang that exists")
	}
}

func TestGroupName(t *testing.T) {
	cases := map[string]struct {
		reason  string
		job     *v1alpha1.TrainingJob
		backend scheduler.Backend
		attempt int32
		want    string
	}{
		"this attempt": {"the first object is the group", jobtest.New(2), dialect{}, 1, "bert"},
		"the next one": {
			"a dialect may name its group after the attempt", jobtest.New(2), dialect{}, 2, "bert-again",
		},
		"not rendered": {
			"the error is reported when the objects are applied",
			jobtest.New(2), dialect{err: errors.New("too large")}, 1, "",
		},
		"no gang": {
			"a finished job has none",
			jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseFailed }),
			dialect{}, 1, "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := DescribeGang(c.job, c.backend, nil, nil, nil, false)
			if got := g.GroupName(c.backend, c.attempt); got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

func TestUnschedulableMessages(t *testing.T) {
	pod := func(name, attempt string, c corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelAttempt: attempt}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{c}},
		}
	}
	scheduled := func(status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason, Message: message}
	}
	got := UnschedulableMessages([]*corev1.Pod{
		pod("c", "2", scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "no capacity for c")),
		pod("a", "2", scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "no capacity for a")),
		pod("b", "2", scheduled(corev1.ConditionTrue, "", "")),
		pod("d", "2", scheduled(corev1.ConditionFalse, corev1.PodReasonSchedulingGated, "not asked yet")),
		pod("e", "1", scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "of another attempt")),
		pod("f", "2", corev1.PodCondition{}),
	}, 2)
	if diff := cmp.Diff([]string{"no capacity for a", "no capacity for c"}, got); diff != "" {
		t.Errorf("want the messages of this attempt, in the order of the pods' names (-want +got):\n%s", diff)
	}
}

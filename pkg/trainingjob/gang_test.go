package trainingjob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestNewGangSharesAndResources(t *testing.T) {
	cases := map[string]struct {
		reason    string
		job       *v1alpha1.TrainingJob
		roles     []scheduler.Role
		resources corev1.ResourceList
	}{
		"simple form": {
			reason:    "all ranks by default; a resource given only in requests counts",
			job:       newJob(4),
			roles:     []scheduler.Role{{Name: "worker", Replicas: 4, MinAvailable: 4}},
			resources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
		},
		"minAvailable below the ranks": {
			reason: "the Master is first, then Workers by index: whoever the scheduler picks, the sum is the same at every pass",
			job: newJob(0, withRoles, func(j *v1alpha1.TrainingJob) {
				setGPUs(j, v1alpha1.RoleMaster, "1")
				setGPUs(j, v1alpha1.RoleWorker, "4")
				j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](2)
			}),
			roles:     []scheduler.Role{{Name: "master", Replicas: 1, MinAvailable: 1}, {Name: "worker", Replicas: 2, MinAvailable: 1}},
			resources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("5")},
		},
		"init containers, sidecars and overhead": {
			reason: "the scheduler counts them, so a group that did not would never fit exactly",
			job: newJob(0, withRoles, func(j *v1alpha1.TrainingJob) {
				worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
				always := corev1.ContainerRestartPolicyAlways
				worker.Template.Spec.InitContainers = []corev1.Container{
					{Name: "sidecar", RestartPolicy: &always, Resources: requests("cpu", "1")},
					{Name: "fetch", Resources: requests("cpu", "7")},
				}
				worker.Template.Spec.Containers[0].Resources = requests("cpu", "2")
				worker.Template.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("500m")}
				j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
			}),
			roles: []scheduler.Role{{Name: "master", Replicas: 1, MinAvailable: 1}, {Name: "worker", Replicas: 2, MinAvailable: 2}},
			// sidecar 1 + the larger of fetch 7 and trainer 2, plus overhead, twice
			resources: corev1.ResourceList{"cpu": resource.MustParse("17")},
		},
		"given by the user": {
			reason: "the user knows better",
			job: newJob(2, func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.SchedulingPolicy.MinResources = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
			}),
			roles:     []scheduler.Role{{Name: "worker", Replicas: 2, MinAvailable: 2}},
			resources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewGang(c.job, 1, false)
			for i := range g.Roles {
				if g.Roles[i].Template == nil {
					t.Errorf("role %s has no template", g.Roles[i].Name)
				}
				g.Roles[i].Template = nil // TestRenderTemplate looks at them
			}
			if diff := cmp.Diff(c.roles, g.Roles); diff != "" {
				t.Errorf("%s: roles (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.resources, g.MinResources); diff != "" {
				t.Errorf("%s: resources (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestRevision(t *testing.T) {
	base := Revision(newJob(2))
	cases := map[string]struct {
		edit    func(*v1alpha1.TrainingJob)
		changes bool
	}{
		"replicas":         {func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = ptr[int32](3) }, true},
		"image":            {func(j *v1alpha1.TrainingJob) { j.Spec.Image = "bert:2" }, true},
		"minAvailable":     {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](1) }, true},
		"suspend":          {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = ptr(true) }, false},
		"backoffLimit":     {func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = ptr[int32](9) }, false},
		"deadline":         {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.ActiveDeadlineSeconds = ptr[int64](9) }, false},
		"time to live":     {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.TTLSecondsAfterFinished = ptr[int32](9) }, false},
		"clean pod policy": {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.CleanPodPolicy = v1alpha1.CleanPodAll }, false},
		"a label":          {func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{"team": "a"} }, false},
	}
	for name, c := range cases {
		if got := Revision(newJob(2, c.edit)) != base; got != c.changes {
			t.Errorf("%s: a new attempt %t, want %t", name, got, c.changes)
		}
	}
}

func TestRefusals(t *testing.T) {
	pod := func(name, attempt string, c corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelAttempt: attempt}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{c}},
		}
	}
	says := func(status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason, Message: message}
	}
	got := UnschedulableMessages([]*corev1.Pod{
		pod("c", "2", says(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "no room for c")),
		pod("a", "2", says(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "no room for a")),
		pod("b", "2", says(corev1.ConditionTrue, "", "")),
		pod("d", "2", says(corev1.ConditionFalse, corev1.PodReasonSchedulingGated, "not asked yet")),
		pod("e", "1", says(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "of another attempt")),
		{ObjectMeta: metav1.ObjectMeta{Name: "f", Labels: map[string]string{v1alpha1.LabelAttempt: "2"}}},
	}, 2)
	if diff := cmp.Diff([]string{"no room for a", "no room for c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChooseScheduler(t *testing.T) {
	recorded := func(phase v1alpha1.Phase) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Status.Phase, j.Status.Scheduling = phase, &v1alpha1.SchedulingStatus{Scheduler: "native"}
		}
	}
	inSpec := func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.Scheduler = "volcano" }
	cases := map[string]struct {
		job       *v1alpha1.TrainingJob
		byConfig  string
		available []string
		want      string
	}{
		"what the cluster serves first":            {newJob(1), "", []string{"native", "volcano"}, "native"},
		"the configuration before it":              {newJob(1), "volcano", []string{"native"}, "volcano"},
		"the job before both":                      {newJob(1, inSpec), "native", []string{"native"}, "volcano"},
		"what a running job has, before all":       {newJob(1, inSpec, recorded(v1alpha1.PhaseRunning)), "volcano", nil, "native"},
		"a suspended job may be given another one": {newJob(1, inSpec, recorded(v1alpha1.PhaseSuspended)), "", nil, "volcano"},
		"none": {newJob(1), "", nil, ""},
	}
	for name, c := range cases {
		if got := ChooseScheduler(c.job, c.byConfig, c.available); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for text, indexes := range map[string][]int32{"": nil, "0": {0}, "0-3,7": {0, 1, 2, 3, 7}, "1,3,5-6": {1, 3, 5, 6}} {
		if got := formatRanges(indexes); got != text {
			t.Errorf("format %v: %q, want %q", indexes, got, text)
		}
		set := parseRanges(text)
		if len(set) != len(indexes) {
			t.Errorf("parse %q: %v, want %v", text, set, indexes)
		}
		for _, i := range indexes {
			if !set.has(i) {
				t.Errorf("parse %q: %d is not in it", text, i)
			}
		}
	}
	if got := parseRanges("x,2-y,4"); len(got) != 1 || !got.has(4) {
		t.Errorf("parts that make no sense must be left out, got %v", got)
	}
}

// TestCause tells disruptions from failures for one pod.
func TestCause(t *testing.T) {
	bound := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
		p.Status.Phase = corev1.PodRunning
		edit(p)
		return p
	}
	target := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason}}
		}
	}
	failed := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason }
	}
	deleted := func(p *corev1.Pod) { now := metav1.Now(); p.DeletionTimestamp = &now }
	cases := map[string]struct {
		pod  *corev1.Pod
		want string // "" is no disruption
	}{
		"preempted by a scheduler":      {bound(target("PreemptionByScheduler")), v1alpha1.ReasonPreempted},
		"drained":                       {bound(target("EvictionByEvictionAPI")), v1alpha1.ReasonEvicted},
		"ended by a taint":              {bound(target("DeletionByTaintManager")), v1alpha1.ReasonNodeLost},
		"collected with its node":       {bound(target("DeletionByPodGC")), v1alpha1.ReasonNodeLost},
		"a kubelet under pressure":      {bound(failed("Evicted")), v1alpha1.ReasonEvicted},
		"refused by a kubelet":          {bound(failed("OutOfnvidia.com/gpu")), v1alpha1.ReasonEvicted},
		"failed":                        {bound(failed("")), ""},
		"failed on its pod's deadline":  {bound(failed("DeadlineExceeded")), ""},
		"deleted while it ran":          {bound(deleted), v1alpha1.ReasonPodDeleted},
		"deleted before it held a node": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}, ""},
		"succeeded, then deleted":       {bound(func(p *corev1.Pod) { deleted(p); p.Status.Phase = corev1.PodSucceeded }), ""},
		"failed because it was deleted": {bound(func(p *corev1.Pod) { deleted(p); failed("")(p) }), v1alpha1.ReasonPodDeleted},
		"a mark that was taken back":    {bound(func(p *corev1.Pod) { target("x")(p); p.Status.Conditions[0].Status = corev1.ConditionFalse }), ""},
	}
	for name, c := range cases {
		l, taken := takenAway(&rank{}, c.pod)
		if taken != (c.want != "") || (taken && l.reason != c.want) {
			t.Errorf("%s: taken %t for %q, want %q", name, taken, l.reason, c.want)
		}
	}
}

func setGPUs(j *v1alpha1.TrainingJob, role v1alpha1.Role, n string) {
	spec := j.Spec.ReplicaSpecs[role]
	spec.Template = *spec.Template.DeepCopy()
	spec.Template.Spec.Containers[0].Resources = requests("nvidia.com/gpu", n)
	j.Spec.ReplicaSpecs[role] = spec
}

func requests(name corev1.ResourceName, n string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{name: resource.MustParse(n)}}
}

// A scheduler is given templates once and asked about them in every attempt: nothing in them may differ.
func TestRenderTemplate(t *testing.T) {
	job := newJob(2, func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high" })
	first, second := NewGang(job, 1, false).Roles[0].Template, NewGang(job, 2, true).Roles[0].Template
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the template differs between attempts (-first +second):\n%s", diff)
	}
	if first.Spec.PriorityClassName != "high" || first.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("priority class %q, restart policy %q", first.Spec.PriorityClassName, first.Spec.RestartPolicy)
	}
	pod := rendered(t, job, RankRef{Role: v1alpha1.RoleWorker, Index: 1}, 3)
	if len(pod.Spec.Containers[0].Env) <= len(first.Spec.Containers[0].Env) {
		t.Error("a rank's environment adds nothing to its template's")
	}
	pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.Containers[0].Env = "", "", first.Spec.Containers[0].Env
	if diff := cmp.Diff(first.Spec, pod.Spec); diff != "" {
		t.Errorf("a rank differs from its template in more than its environment and host name (-template +rank):\n%s", diff)
	}
}

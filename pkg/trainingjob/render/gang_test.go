package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var masterAndWorkers = []scheduler.Role{
	{Name: "master", Replicas: 1, MinAvailable: 1}, {Name: "worker", Replicas: 2, MinAvailable: 2},
}

// ofWorkers edits the pods of the workers.
func ofWorkers(edit func(*corev1.PodSpec)) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
		edit(&worker.Template.Spec)
		j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
	}
}

// TestGang checks how minAvailable is shared among the roles, and what the gang requests.
func TestGang(t *testing.T) {
	cases := map[string]struct {
		reason    string
		job       *v1alpha1.TrainingJob
		roles     []scheduler.Role
		resources corev1.ResourceList
	}{
		"simple form": {
			reason:    "all ranks by default; a resource given only in requests counts",
			job:       jobtest.New(4),
			roles:     []scheduler.Role{{Name: "worker", Replicas: 4, MinAvailable: 4}},
			resources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
		},
		"limits alone": {
			reason: "the API server has a pod request what it is limited to, and the group is there before the pod",
			job: jobtest.New(0, jobtest.Roles, ofWorkers(func(pod *corev1.PodSpec) {
				pod.Containers[0].Resources = corev1.ResourceRequirements{
					Limits: corev1.ResourceList{
						"nvidia.com/gpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"),
						"cpu": resource.MustParse("4"),
					},
					Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
				}
				pod.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{"memory": resource.MustParse("9Gi")},
				}}}
			})),
			roles: masterAndWorkers,
			resources: corev1.ResourceList{
				"nvidia.com/gpu": resource.MustParse("8"), "memory": resource.MustParse("18Gi"),
				"cpu": resource.MustParse("2"),
			},
		},
		"limits of the pod alone": {
			reason: "the same of what all containers have together; what they request themselves comes first",
			job: jobtest.New(0, jobtest.Roles, ofWorkers(func(pod *corev1.PodSpec) {
				pod.Containers[0].Resources = jobtest.Requests("cpu", "1")
				pod.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{
					"memory": resource.MustParse("8Gi"), "cpu": resource.MustParse("4"),
				}}
			})),
			roles: masterAndWorkers,
			resources: corev1.ResourceList{
				"memory": resource.MustParse("16Gi"), "cpu": resource.MustParse("2"),
			},
		},
		"minAvailable below the ranks": {
			reason: "the Master is first, then Workers by index: the sum does not depend on the scheduler",
			job: jobtest.New(0, jobtest.Roles, func(j *v1alpha1.TrainingJob) {
				jobtest.SetGPUs(j, v1alpha1.RoleMaster, "1")
				jobtest.SetGPUs(j, v1alpha1.RoleWorker, "4")
				j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
			}),
			roles: []scheduler.Role{
				{Name: "master", Replicas: 1, MinAvailable: 1}, {Name: "worker", Replicas: 2, MinAvailable: 1},
			},
			resources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("5")},
		},
		"minima of the roles": {
			reason: "each role says how many of its ranks must start, and the gang needs their sum",
			job: jobtest.New(0, jobtest.Roles, func(j *v1alpha1.TrainingJob) {
				jobtest.SetGPUs(j, v1alpha1.RoleWorker, "4")
				worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
				worker.Replicas, worker.MinAvailable = new(int32(5)), new(int32(3))
				j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
			}),
			roles: []scheduler.Role{
				{Name: "master", Replicas: 1, MinAvailable: 1}, {Name: "worker", Replicas: 5, MinAvailable: 3},
			},
			resources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("12")},
		},
		"init containers, sidecars and overhead": {
			reason: "the scheduler counts them, so a group that did not would never fit exactly",
			job: jobtest.New(0, jobtest.Roles, func(j *v1alpha1.TrainingJob) {
				worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
				always := corev1.ContainerRestartPolicyAlways
				worker.Template.Spec.InitContainers = []corev1.Container{
					{Name: "sidecar", RestartPolicy: &always, Resources: jobtest.Requests("cpu", "1")},
					{Name: "fetch", Resources: jobtest.Requests("cpu", "7")},
				}
				worker.Template.Spec.Containers[0].Resources = jobtest.Requests("cpu", "2")
				worker.Template.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("500m")}
				j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
			}),
			roles: []scheduler.Role{
				{Name: "master", Replicas: 1, MinAvailable: 1}, {Name: "worker", Replicas: 2, MinAvailable: 2},
			},
			// sidecar 1 + the larger of fetch 7 and trainer 2, plus overhead, twice
			resources: corev1.ResourceList{"cpu": resource.MustParse("17")},
		},
		"given by the user": {
			reason: "the user may ask for more, and not pass the queue's quota by with less",
			job: jobtest.New(2, func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.SchedulingPolicy.MinResources = corev1.ResourceList{
					"nvidia.com/gpu": resource.MustParse("1"), "memory": resource.MustParse("8Gi"),
				}
			}),
			roles: []scheduler.Role{{Name: "worker", Replicas: 2, MinAvailable: 2}},
			resources: corev1.ResourceList{
				"nvidia.com/gpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"),
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := Gang(c.job, 1, false)
			for i := range g.Roles {
				if g.Roles[i].Template == nil {
					t.Errorf("role %s has no template", g.Roles[i].Name)
				}
				g.Roles[i].Template = nil // see TestRoleTemplate
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

// TestRecallsOfTheGang: a QuotaSystem learns how often the gang returned lent capacity.
func TestRecallsOfTheGang(t *testing.T) {
	job := jobtest.New(2)
	if g := Gang(job, 1, false); g.Recalls != 0 {
		t.Errorf("%d recalls of a new job", g.Recalls)
	}
	job.Status.Work = &v1alpha1.WorkStatus{Recalled: 2}
	if g := Gang(job, 3, false); g.Recalls != 2 {
		t.Errorf("%d recalls, want 2", g.Recalls)
	}
}

// TestLimitsStayLimits: what is counted for a template's limits is not written into it. Kueue compares the
// template with that of a Workload which has quota, also of one that another version of the operator made.
func TestLimitsStayLimits(t *testing.T) {
	limits := corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}}
	job := jobtest.New(0, jobtest.Roles, ofWorkers(func(pod *corev1.PodSpec) {
		pod.Containers[0].Resources = *limits.DeepCopy()
	}))
	g := Gang(job, 1, false)
	for _, role := range g.Roles {
		if role.Name != "worker" {
			continue
		}
		if n := role.Requests()["nvidia.com/gpu"]; n != 4 {
			t.Errorf("a rank requests %d GPUs, want 4", n)
		}
		if diff := cmp.Diff(limits, role.Template.Spec.Containers[0].Resources); diff != "" {
			t.Errorf("the template was changed (-want +got):\n%s", diff)
		}
	}
	if n := GPUs(job, framework.DefaultGPUs()); n != 8 {
		t.Errorf("the job has %d GPUs, want 8", n)
	}
}

// TestRoleTemplate: a role's template is the same in every attempt, and a rank's pod differs from it only in
// its environment and host name, and in what the operator adds to the pod alone.
func TestRoleTemplate(t *testing.T) {
	job := jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
	})
	first, second := Gang(job, 1, false).Roles[0].Template, Gang(job, 2, true).Roles[0].Template
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the template differs between attempts (-first +second):\n%s", diff)
	}
	if first.Spec.PriorityClassName != "high" || first.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("priority class %q, restart policy %q", first.Spec.PriorityClassName, first.Spec.RestartPolicy)
	}
	pod := rendered(t, job, worker(1), 3)
	if len(pod.Spec.Containers[0].Env) <= len(first.Spec.Containers[0].Env) {
		t.Error("a rank's environment adds nothing to its template's")
	}
	pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.Containers[0].Env = "", "", first.Spec.Containers[0].Env
	pod.Spec.Volumes, pod.Spec.Containers[0].VolumeMounts = nil, nil // shared memory
	if diff := cmp.Diff(first.Spec, pod.Spec); diff != "" {
		t.Errorf("a rank differs in more than its environment and host name (-template +rank):\n%s", diff)
	}
}

// TestGPUs: what counts as GPUs is the admin's word, and by default more than what is called gpu.
func TestGPUs(t *testing.T) {
	slices := jobtest.New(4)
	slices.Spec.Resources = jobtest.Requests("nvidia.com/mig-1g.5gb", "2")
	cases := map[string]struct {
		reason  string
		job     *v1alpha1.TrainingJob
		counted framework.GPUs
		want    int64
	}{
		"GPUs":           {"of all ranks", jobtest.New(4), nil, 8},
		"slices":         {"a slice is a device", slices, nil, 8},
		"slices do not":  {"the admin says so", slices, framework.GPUs{"*/gpu"}, 0},
		"nothing counts": {"the name is another", jobtest.New(4), framework.GPUs{"example.com/npu"}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := GPUs(tc.job, tc.counted); got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestFrameworksGetGPUs: torchrun starts as many processes as a rank has devices.
func TestFrameworksGetGPUs(t *testing.T) {
	job := jobtest.New(2)
	job.Spec.Resources = jobtest.Requests("nvidia.com/mig-1g.5gb", "2")
	for _, tc := range []struct {
		counted framework.GPUs
		want    int64
	}{{nil, 2}, {framework.GPUs{"*/gpu"}, 0}} {
		if got := peers(job, spec.Roles(job), tc.counted).Leader().GPUs; got != tc.want {
			t.Errorf("by %v a rank has %d, want %d", tc.counted, got, tc.want)
		}
	}
}

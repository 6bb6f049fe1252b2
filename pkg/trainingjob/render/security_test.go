package render

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// privileged is a job whose trainer has every right that a pod can give.
func privileged(j *v1alpha1.TrainingJob) {
	jobtest.Roles(j)
	jobtest.Checkpoints(j)
	for name, role := range j.Spec.ReplicaSpecs {
		pod := role.Template.Spec.DeepCopy()
		pod.ServiceAccountName, pod.PriorityClassName = "admin", "urgent"
		pod.HostNetwork, pod.HostPID, pod.HostIPC = true, true, true
		pod.SecurityContext = &corev1.PodSecurityContext{
			RunAsGroup: new(int64(7)), FSGroup: new(int64(8)), SupplementalGroups: []int64{9},
			Sysctls:        []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined},
		}
		pod.Containers[0].Command = []string{"train"}
		pod.Containers[0].SecurityContext = &corev1.SecurityContext{
			Privileged: new(true), RunAsUser: new(int64(6)), SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c1"},
			AllowPrivilegeEscalation: new(true), ReadOnlyRootFilesystem: new(false),
			Capabilities:   &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined},
			ProcMount:      new(corev1.UnmaskedProcMount),
		}
		role.Template.Spec = *pod
		j.Spec.ReplicaSpecs[name] = role
	}
}

// TestAgentHasNoRights: the agent's own containers are the trainer's user, without any of its rights.
func TestAgentHasNoRights(t *testing.T) {
	job := jobtest.New(0, privileged)
	job.Status.Attempt = 1
	search, err := Resolver(job, Agent{Image: "agent:1"})
	if err != nil {
		t.Fatal(err)
	}
	rank := rendered(t, job, worker(0), 1)
	for name, c := range map[string]corev1.Container{
		"installer": rank.Spec.InitContainers[0], "resolver": search.Spec.Containers[0],
	} {
		sc := c.SecurityContext
		switch {
		case sc.Privileged != nil && *sc.Privileged,
			sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation:
			t.Errorf("%s may gain rights: %+v", name, sc)
		case sc.Capabilities == nil || len(sc.Capabilities.Add) > 0 ||
			!slices.Equal(sc.Capabilities.Drop, []corev1.Capability{"ALL"}):
			t.Errorf("%s has capabilities: %+v", name, sc.Capabilities)
		case sc.ReadOnlyRootFilesystem == nil || !*sc.ReadOnlyRootFilesystem:
			t.Errorf("%s can write its root", name)
		case sc.SeccompProfile == nil || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
			t.Errorf("%s: seccomp %+v", name, sc.SeccompProfile)
		case sc.ProcMount != nil:
			t.Errorf("%s: /proc %s", name, *sc.ProcMount)
		case sc.RunAsUser == nil || *sc.RunAsUser != 6 || sc.SELinuxOptions == nil:
			t.Errorf("%s is not the trainer's user: %+v", name, sc)
		}
	}
	if !slices.ContainsFunc(rank.Spec.InitContainers[0].VolumeMounts,
		func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
		t.Error("the installer gets the service account's token")
	}
	pod := search.Spec
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("the search gets a token")
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.SecurityContext.Sysctls) > 0 ||
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the search has the host's namespaces or the pod's rights: %+v", pod)
	}
	if *pod.SecurityContext.RunAsGroup != 7 || *pod.SecurityContext.FSGroup != 8 ||
		!slices.Equal(pod.SecurityContext.SupplementalGroups, []int64{9}) {
		t.Errorf("the search is not in the trainer's groups: %+v", pod.SecurityContext)
	}
	if pod.ActiveDeadlineSeconds == nil {
		t.Error("a search without an operator never ends")
	}
}

// TestSearchNeverPreempts: a search of 100m CPU with the class of its job could preempt another gang.
func TestSearchNeverPreempts(t *testing.T) {
	job := jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "urgent"
	})
	for _, class := range []string{"", "trainingjob-search"} {
		search, err := Resolver(job, Agent{Image: "agent:1", SearchPriorityClass: class})
		if err != nil {
			t.Fatal(err)
		}
		if got := search.Spec.PriorityClassName; got != class {
			t.Errorf("PriorityClass %q, want %q", got, class)
		}
	}
}

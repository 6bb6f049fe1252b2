package render

import (
	corev1 "k8s.io/api/core/v1"
)

// defaultUser is the user of the agent's own containers if the job forbids root and the trainer's image sets
// the user.
const defaultUser int64 = 65532

// tokenPath is where the API server's admission mounts the service account's token into every container that
// mounts nothing there (k8s.io/kubernetes/plugin/pkg/admission/serviceaccount, DefaultAPITokenMountPath).
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// nonRootID is the user, the group and the group of the volumes under the profile NonRoot.
const nonRootID int64 = 1000

// applyNonRoot sets the fields that the Pod Security Standard "restricted" requires, unless the user sets
// them (k8s.io/pod-security-admission/policy, checks of level restricted). A user that is set for the pod
// alone keeps its group.
func applyNonRoot(pod *corev1.PodSpec) {
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	c := pod.SecurityContext
	setDefault(&c.RunAsNonRoot, true)
	if c.RunAsUser == nil {
		c.RunAsUser = new(nonRootID)
		setDefault(&c.RunAsGroup, nonRootID)
		setDefault(&c.FSGroup, nonRootID)
	}
	if c.SeccompProfile == nil {
		c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			if containers[i].SecurityContext == nil {
				containers[i].SecurityContext = &corev1.SecurityContext{}
			}
			c := containers[i].SecurityContext
			setDefault(&c.AllowPrivilegeEscalation, false)
			if c.Capabilities == nil {
				c.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
			}
		}
	}
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// agentSecurityContext returns that of the agent's own containers. They read and write the trainer's files,
// so they have its user, group and SELinux label, but none of its rights: a privileged trainer has an
// unprivileged agent.
func agentSecurityContext(
	trainer *corev1.SecurityContext, pod *corev1.PodSecurityContext,
) *corev1.SecurityContext {
	c := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		ReadOnlyRootFilesystem:   new(true),
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	nonRoot := pod != nil && pod.RunAsNonRoot != nil && *pod.RunAsNonRoot
	user := pod != nil && pod.RunAsUser != nil
	if trainer != nil {
		trainer = trainer.DeepCopy()
		c.RunAsUser, c.RunAsGroup = trainer.RunAsUser, trainer.RunAsGroup
		c.SELinuxOptions, c.RunAsNonRoot = trainer.SELinuxOptions, trainer.RunAsNonRoot
		if c.RunAsNonRoot != nil {
			nonRoot = *c.RunAsNonRoot
		}
		user = user || c.RunAsUser != nil
	}
	if nonRoot && !user {
		c.RunAsUser = new(defaultUser)
	}
	return c
}

// resolverPodContext keeps the user and groups of the job's pods, and so their access to the volume.
func resolverPodContext(pod *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	c := &corev1.PodSecurityContext{
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if pod == nil {
		return c
	}
	pod = pod.DeepCopy()
	c.RunAsUser, c.RunAsGroup, c.RunAsNonRoot = pod.RunAsUser, pod.RunAsGroup, pod.RunAsNonRoot
	c.FSGroup, c.FSGroupChangePolicy = pod.FSGroup, pod.FSGroupChangePolicy
	c.SupplementalGroups, c.SupplementalGroupsPolicy = pod.SupplementalGroups, pod.SupplementalGroupsPolicy
	c.SELinuxOptions, c.SELinuxChangePolicy = pod.SELinuxOptions, pod.SELinuxChangePolicy
	return c
}

// noToken hides the service account's token from one container of a pod: it mounts the given empty directory
// in its place.
func noToken(volume string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: tokenPath, ReadOnly: true}
}

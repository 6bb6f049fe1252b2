package render

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	keyVolume = spec.ReservedName + "key"
	keyDir    = spec.ReservedDir + "/key"
	sshVolume = spec.ReservedName + "ssh"
)

// sshd is the command of a worker without a command. It must be started by its absolute path
// (sshd.c, OpenSSH 9.2).
var sshd = []string{"/usr/sbin/sshd", "-D", "-e", "-f", spec.SSHDir + "/sshd_config"}

// errNoKey never occurs for a pod that the operator creates, since it creates the key first.
var errNoKey = errors.New("status.mpi has no key of the job's")

// addSSH gives the trainer of an MPI rank the job's keys. The agent, as the trainer's user, copies them to
// the paths of ssh and sshd with the required modes. Then it runs sshd in a worker. In the launcher it runs
// the user's command as soon as all workers answer.
//
// Only the trainer's container gets the keys, and every process in it can read them.
func addSSH(job *v1alpha1.TrainingJob, pod *corev1.Pod, gang framework.Gang, self framework.Rank) error {
	key := spec.SSHKey(job)
	if key == nil {
		return errNoKey
	}
	trainer := spec.Framework(job).Trainer(&pod.Spec)
	if len(trainer.Command)+len(trainer.Args) == 0 {
		trainer.Command = slices.Clone(sshd)
	}
	trainer.Command = slices.Concat(sshCommand(gang, self, key.SSHPublicKey), trainer.Command)
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: keyVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: key.SSHSecretName, DefaultMode: new(int32(0o444)),
		}}},
		corev1.Volume{Name: sshVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("1Mi")),
		}}})
	trainer.VolumeMounts = append(trainer.VolumeMounts,
		corev1.VolumeMount{Name: keyVolume, MountPath: keyDir, ReadOnly: true},
		corev1.VolumeMount{Name: sshVolume, MountPath: spec.SSHDir})
	if m := job.Spec.MPI; m != nil && m.SSHAuthMountPath != "" {
		trainer.VolumeMounts = append(trainer.VolumeMounts,
			corev1.VolumeMount{Name: sshVolume, MountPath: m.SSHAuthMountPath})
	}
	return nil
}

// sshCommand returns the command before that of a launcher or a worker.
func sshCommand(gang framework.Gang, self framework.Rank, publicKey string) []string {
	role := v1alpha1.Role(self.Role)
	agent := []string{
		agentDir + "/agent", "mpi-" + spec.RoleKey(role), "--key=" + keyDir, "--dir=" + spec.SSHDir,
		"--public-key=" + publicKey,
	}
	worker := framework.Role{Port: self.Port}
	for _, r := range gang.Roles {
		if r.Name == string(v1alpha1.RoleWorker) {
			worker = r
		}
	}
	agent = append(agent, fmt.Sprintf("--port=%d", worker.Port))
	if role == v1alpha1.RoleLauncher && worker.Replicas > 0 {
		// The names of the ranks of a role differ in the index alone.
		agent = append(agent, fmt.Sprintf("--workers=%d", worker.Replicas),
			"--first-worker="+gang.Host(worker.Name, 0))
	}
	return append(agent, "--")
}

// SSHSecret returns the Secret with a key of the job. It is immutable and is deleted with the job. The
// keys of its data are those of Kubeflow's (pkg/controller/mpi_job_controller.go, mpi-operator v0.8.0).
func SSHSecret(job *v1alpha1.TrainingJob, key *v1alpha1.MPIStatus, private []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: key.SSHSecretName, Namespace: job.Namespace,
			Labels:          map[string]string{v1alpha1.LabelJobName: job.Name},
			OwnerReferences: []metav1.OwnerReference{Owner(job)},
		},
		Type:      corev1.SecretTypeSSHAuth,
		Immutable: new(true),
		Data: map[string][]byte{
			corev1.SSHAuthPrivateKey: private, "ssh-publickey": []byte(key.SSHPublicKey + "\n"),
		},
	}
}

package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// NeedsSSH reports whether the ranks of a job reach each other by ssh, with keys of the job's own.
func NeedsSSH(job *v1alpha1.TrainingJob) bool { return job.Spec.Framework == v1alpha1.FrameworkMPI }

// NeedsAgent reports whether the agent runs in the pods of a job.
func NeedsAgent(job *v1alpha1.TrainingJob) bool {
	mode := Liveness(job).Mode
	return Checkpoints(job) != nil || NeedsSSH(job) || mode != "" && mode != v1alpha1.LivenessOff
}

// LauncherWorks reports whether the processes of MPI run on the launcher too.
func LauncherWorks(job *v1alpha1.TrainingJob) bool {
	m := job.Spec.MPI
	return m != nil && m.RunLauncherAsWorker != nil && *m.RunLauncherAsWorker
}

// launcherLast moves a launcher that does no work behind the workers. The first process of MPI runs on the
// first worker, which is then rank 0, whose agent reports.
func launcherLast(job *v1alpha1.TrainingJob, roles []Role) []Role {
	if !NeedsSSH(job) || LauncherWorks(job) {
		return roles
	}
	i := slices.IndexFunc(roles, func(r Role) bool { return r.Name == v1alpha1.RoleLauncher })
	if i < 0 {
		return roles
	}
	launcher := roles[i]
	return append(slices.Delete(roles, i, i+1), launcher)
}

// MPI returns spec.mpi with its defaults. gpus are the GPUs of a worker.
func MPI(job *v1alpha1.TrainingJob, gpus int64) framework.MPI {
	m := job.Spec.MPI
	if m == nil {
		m = &v1alpha1.MPISpec{}
	}
	out := framework.MPI{
		Implementation: string(m.Implementation), LauncherWorks: LauncherWorks(job),
		Slots: OrDefault(m.SlotsPerWorker, int32(min(max(gpus, 1), MaxSlots))), SSHConfig: SSHDir + "/config",
	}
	return out
}

// MaxSlots of one worker, as in the CRD's schema.
const MaxSlots = 1024

// SSHDir is where the agent puts the keys and the configurations of ssh and sshd, in the containers of the
// trainers.
const SSHDir = ReservedDir + "/ssh"

// SSHSecretName names the Secret with the job's private key after the job's UID and the public key. The
// name is unknown before the key exists, so no user can create another Secret in its place.
func SSHSecretName(job *v1alpha1.TrainingJob, publicKey string) string {
	sum := sha256.Sum256([]byte(string(job.UID) + "\n" + publicKey))
	return job.Name + "-ssh-" + hex.EncodeToString(sum[:5])
}

// SSHKey returns the key in the status of a job. It returns nil if there is none, or if the operator cannot
// have written it: then the operator creates a new one.
func SSHKey(job *v1alpha1.TrainingJob) *v1alpha1.MPIStatus {
	key := job.Status.MPI
	if key == nil || key.SSHSecretName != SSHSecretName(job, key.SSHPublicKey) {
		return nil
	}
	return key
}

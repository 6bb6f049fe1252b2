package trainingjob

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Defaults of spec.checkpoint.
const (
	defaultCheckpointPath = "/checkpoints"
	defaultInterval       = 300
	defaultKeepLast       = 3
	defaultGrace          = 30
)

// defaultClaimSize of a claim that is created.
var defaultClaimSize = resource.MustParse("10Gi")

// Checkpoints is what a job says of its checkpoints; nil where it has none.
func Checkpoints(job *v1alpha1.TrainingJob) *v1alpha1.CheckpointSpec {
	if c := job.Spec.Checkpoint; c != nil && (c.Enabled == nil || *c.Enabled) {
		return c
	}
	return nil
}

func onVolume(c *v1alpha1.CheckpointSpec) bool {
	return c.Storage == "" || c.Storage == v1alpha1.StoragePVC
}

func orDefault(n *int32, def int32) int32 {
	if n == nil {
		return def
	}
	return *n
}

// ClaimName of the claim that a job's checkpoints lie on.
func ClaimName(job *v1alpha1.TrainingJob) string {
	if name := job.Spec.Checkpoint.PVC.ClaimName; name != "" {
		return name
	}
	return job.Name + "-checkpoints"
}

// CheckpointURI is the URI of the directory that holds the attempts' directories, of a job with checkpoints. Every checkpoint of the
// job lies under it.
//
// A claim that was made for the job is its own. On a claim that the user names, and on an object store, others may have saved
// before or save now: there the job has a directory of its own, so that it never takes another one's checkpoint for its own,
// not even that of its predecessor of the same name.
func CheckpointURI(job *v1alpha1.TrainingJob) (checkpoint.URI, error) {
	root, err := rootURI(job)
	if err != nil {
		return root, err
	}
	return root.Join(ownDir(job))
}

// rootURI is the place as the user named it.
func rootURI(job *v1alpha1.TrainingJob) (checkpoint.URI, error) {
	c := job.Spec.Checkpoint
	if onVolume(c) {
		return checkpoint.ParseURI("pvc://" + ClaimName(job))
	}
	return checkpoint.ParseURI(c.URI)
}

// ownDir is the job's directory below its root; empty where the root is its own.
func ownDir(job *v1alpha1.TrainingJob) string {
	if c := job.Spec.Checkpoint; onVolume(c) && c.PVC.ClaimName == "" {
		return ""
	}
	uid := strings.ReplaceAll(string(job.UID), "-", "")
	return job.Name + "-" + uid[:min(8, len(uid))]
}

// mountPath of the claim.
func mountPath(c *v1alpha1.CheckpointSpec) string {
	if c.Path != "" {
		return c.Path
	}
	return defaultCheckpointPath
}

// checkpointBase is CheckpointURI as the trainer sees it.
func checkpointBase(job *v1alpha1.TrainingJob) (string, error) {
	if c := job.Spec.Checkpoint; onVolume(c) {
		return path.Join(mountPath(c), ownDir(job)), nil
	}
	u, err := CheckpointURI(job)
	return u.String(), err
}

// checkpointDir is where an attempt saves.
func checkpointDir(job *v1alpha1.TrainingJob, attempt int32) (string, error) {
	base, err := checkpointBase(job)
	return fmt.Sprintf("%s/attempt-%d", base, attempt), err
}

// resumePath is the pinned resume point as the trainer sees it; empty where there is none.
func resumePath(job *v1alpha1.TrainingJob) (string, error) {
	st := job.Status.Checkpoint
	if st == nil || st.ResumeFrom == nil {
		return "", nil
	}
	u, err := checkpoint.ParseURI(st.ResumeFrom.URI)
	if err != nil || !onVolume(job.Spec.Checkpoint) {
		return u.String(), err
	}
	root, err := rootURI(job)
	if err != nil {
		return "", err
	}
	return checkpoint.Mount{Dir: mountPath(job.Spec.Checkpoint), URI: root}.PathOf(u)
}

// isOurs says whether a checkpoint lies where the job's checkpoints lie.
func isOurs(job *v1alpha1.TrainingJob, uri string) bool {
	u, err := checkpoint.ParseURI(uri)
	if err != nil {
		return false
	}
	base, err := CheckpointURI(job)
	return err == nil && u.Under(base) && u != base
}

// RenderClaim is the claim that must exist for the job's checkpoints; nil where the user brings one, or none is needed.
//
// It has no owner unless the user says so: a job's end must never delete a model. Its label says whose it is.
func RenderClaim(job *v1alpha1.TrainingJob) *corev1.PersistentVolumeClaim {
	c := Checkpoints(job)
	if c == nil || !onVolume(c) || c.PVC.ClaimName != "" {
		return nil
	}
	mode := c.PVC.AccessMode
	if mode == "" {
		mode = corev1.ReadWriteMany
		if Ranks(job) == 1 {
			mode = corev1.ReadWriteOnce
		}
	}
	size := defaultClaimSize
	if c.PVC.Size != nil {
		size = *c.PVC.Size
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: ClaimName(job), Namespace: job.Namespace,
			Labels: map[string]string{v1alpha1.LabelJobName: job.Name, v1alpha1.LabelJobUID: string(job.UID)},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{mode},
			StorageClassName: c.PVC.StorageClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if c.PVC.Retain == v1alpha1.DeleteClaim {
		claim.OwnerReferences = []metav1.OwnerReference{Owner(job)}
	}
	return claim
}

package convert

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// mlV1Checkpoint is spec.checkpoint of ml.example.com/v1.
type mlV1Checkpoint struct {
	Enabled *bool `json:"enabled"`
	// Frequency in epochs.
	Frequency          *int32      `json:"frequency"`
	Storage            mlV1Storage `json:"storage"`
	DeleteOnCompletion bool        `json:"deleteOnCompletion"`
	Retention          *int32      `json:"retention"`
	ResumeFrom         string      `json:"resumeFrom"`
}

type mlV1Storage struct {
	Type         string             `json:"type"`
	Path         string             `json:"path"`
	Size         *resource.Quantity `json:"size"`
	StorageClass *string            `json:"storageClass"`
	PVCName      string             `json:"pvcName"`
	S3Bucket     string             `json:"s3Bucket"`
	GCSBucket    string             `json:"gcsBucket"`
	NFSServer    string             `json:"nfsServer"`
	NFSPath      string             `json:"nfsPath"`
}

// Defaults of its checkpoints (checkpoint_controller.py, create_checkpoint_storage; job_builder.py).
const (
	mlV1ClaimSize     = "100Gi"
	mlV1StorageClass  = "standard"
	mlV1CheckpointDir = "/checkpoints"
)

// enabled is the default even where there is no checkpoint block.
func (m mlV1Checkpoint) enabled() bool { return m.Enabled == nil || *m.Enabled }

// mlV1Checkpoint saves where the kind does: on a claim of 100Gi for all ranks, unless storage says else.
func (c *conversion) mlV1Checkpoint(job *v1alpha1.TrainingJob, spec *mlV1Spec, at *field.Path) {
	from := spec.Checkpoint
	if !from.enabled() {
		return
	}
	to := &v1alpha1.CheckpointSpec{Enabled: new(true), KeepLast: from.Retention}
	job.Spec.Checkpoint = to
	c.savesBelow(at)
	storage := at.Child("storage")
	switch kind := cmp.Or(from.Storage.Type, "pvc"); kind {
	case "pvc":
		c.mlV1Claim(to, from, storage)
	case "s3", "gcs":
		c.mlV1Bucket(job, from.Storage, v1alpha1.CheckpointStorage(kind), storage)
	default:
		c.fail(storage.Child("type"), "%q cannot be converted: use pvc, s3 or gcs (an NFS export: as a claim, "+
			"named in pvcName)", kind)
	}
	frequency := cmp.Or(from.Frequency, new(int32(1)))
	if from.Frequency != nil {
		c.epochs(at.Child("frequency"), *frequency)
	}
	worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec
	addEnv(mainContainer(&worker, framework.TrainerContainer),
		corev1.EnvVar{Name: "CHECKPOINT_FREQUENCY", Value: fmt.Sprint(*frequency)})
	if from.ResumeFrom != "" {
		c.warn(at.Child("resumeFrom"), noCounterpart+": an attempt resumes from what the job itself has saved; "+
			"have the trainer load %q when RESUME_FROM_CHECKPOINT is empty", from.ResumeFrom)
	}
}

func (c *conversion) mlV1Claim(to *v1alpha1.CheckpointSpec, from mlV1Checkpoint, at *field.Path) {
	to.Storage = v1alpha1.StoragePVC
	to.Path = cmp.Or(from.Storage.Path, mlV1CheckpointDir)
	if from.Storage.PVCName != "" {
		to.PVC.ClaimName = from.Storage.PVCName
		if from.Storage.Size != nil || from.Storage.StorageClass != nil {
			c.warn(at, "size and storageClass describe a new claim, but pvcName names one: they are left out")
		}
		if from.DeleteOnCompletion {
			c.warn(field.NewPath("spec", "checkpoint", "deleteOnCompletion"),
				noCounterpart+" for a claim that exists: it is kept")
		}
		return
	}
	size := resource.MustParse(mlV1ClaimSize)
	to.PVC = v1alpha1.CheckpointClaim{
		Size:             cmp.Or(from.Storage.Size, &size),
		StorageClassName: cmp.Or(from.Storage.StorageClass, new(mlV1StorageClass)),
		AccessMode:       corev1.ReadWriteMany, Retain: v1alpha1.RetainClaim,
	}
	if from.DeleteOnCompletion { // delete_handler: the checkpoints go when the job is deleted
		to.PVC.Retain = v1alpha1.DeleteClaim
	}
}

// mlV1Bucket saves below s3://<bucket>/<path or the job's name>.
func (c *conversion) mlV1Bucket(
	job *v1alpha1.TrainingJob, from mlV1Storage, kind v1alpha1.CheckpointStorage, at *field.Path,
) {
	to := job.Spec.Checkpoint
	to.Storage = kind
	bucket, name, scheme := from.S3Bucket, "s3Bucket", "s3://"
	if kind == v1alpha1.StorageGCS {
		bucket, name, scheme = from.GCSBucket, "gcsBucket", "gs://"
	}
	switch {
	case strings.HasPrefix(from.Path, scheme):
		to.URI = strings.TrimSuffix(from.Path, "/")
	case bucket == "":
		c.fail(at.Child(name), "is required for storage %s (or a path that begins with %s)", kind, scheme)
	default:
		to.URI = scheme + bucket + "/" + cmp.Or(strings.Trim(from.Path, "/"), job.Name)
	}
	c.warn(at, "the store's credentials are not in the document: name their Secret in "+
		"spec.checkpoint.credentialsSecretRef, or let the ranks' service account have access")
}

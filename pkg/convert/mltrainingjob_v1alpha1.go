package convert

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// mlV1alpha1Spec is TrainingJobSpec of ml.example.com/v1alpha1 (api/v1alpha1/trainingjob_types.go of the
// course's laboratory "Build a Custom Kubernetes Operator for ML Training Jobs").
type mlV1alpha1Spec struct {
	Framework     v1alpha1.Framework                        `json:"framework"`
	Image         string                                    `json:"image"`
	Command       []string                                  `json:"command"`
	Args          []string                                  `json:"args"`
	Workers       *int32                                    `json:"workers"`
	GPUPerWorker  int32                                     `json:"gpuPerWorker"`
	Resources     corev1.ResourceRequirements               `json:"resources"`
	DataVolume    *corev1.PersistentVolumeClaimVolumeSource `json:"dataVolume"`
	CheckpointDir string                                    `json:"checkpointDir"`
	// CheckpointInterval in epochs.
	CheckpointInterval *int32                 `json:"checkpointInterval"`
	Hyperparameters    map[string]any         `json:"hyperparameters"`
	RestartPolicy      v1alpha1.RestartPolicy `json:"restartPolicy"`
}

const (
	gpuResource = corev1.ResourceName("nvidia.com/gpu")
	dataDir     = "/data"
)

// mlV1alpha1 converts ml.example.com/v1alpha1 TrainingJob into the simple form: all of its pods are alike.
func mlV1alpha1(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[mlV1alpha1Spec](c, doc)
	if from == nil {
		return nil
	}
	at, s := field.NewPath("spec"), &job.Spec
	if from.Framework == "" {
		c.fail(at.Child("framework"), "is required: pytorch, tensorflow or xgboost")
	}
	s.Framework, s.Command, s.Args = from.Framework, from.Command, from.Args
	s.Image = cmp.Or(from.Image, c.options.Image)
	s.Replicas = cmp.Or(from.Workers, new(int32(1)))
	s.Resources = from.Resources
	requestGPUs(&s.Resources, from.GPUPerWorker)
	s.RestartPolicy = cmp.Or(from.RestartPolicy, v1alpha1.RestartOnFailure)
	if s.RestartPolicy != v1alpha1.RestartNever {
		s.RunPolicy.BackoffLimit = new(int32(defaultBackoffLimit))
		c.warn(at.Child("restartPolicy"), "%s restarts without end there, which has no counterpart: "+
			"runPolicy.backoffLimit %d is written", s.RestartPolicy, defaultBackoffLimit)
	}
	s.Hyperparameters = c.hyperparameters(from.Hyperparameters, "", at.Child("hyperparameters"))
	if from.DataVolume != nil {
		s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: from.DataVolume,
		}}}
		s.VolumeMounts = []corev1.VolumeMount{{
			Name: "data", MountPath: dataDir, ReadOnly: from.DataVolume.ReadOnly,
		}}
		c.warn(at.Child("dataVolume"), "the kind does not say where the claim is mounted: it is at %s", dataDir)
	}
	c.mlV1alpha1Checkpoint(job, from, at)
	return job
}

// mlV1alpha1Checkpoint saves below checkpointDir: on the claim of the data if it lies there, else on one that
// the operator makes.
func (c *conversion) mlV1alpha1Checkpoint(job *v1alpha1.TrainingJob, from *mlV1alpha1Spec, at *field.Path) {
	if from.CheckpointDir == "" {
		if from.CheckpointInterval != nil {
			c.warn(at.Child("checkpointInterval"), noCounterpart+" without checkpointDir")
		}
		return
	}
	dir := path.Clean(from.CheckpointDir)
	job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StoragePVC, Path: dir}
	if from.DataVolume != nil && !from.DataVolume.ReadOnly && strings.HasPrefix(dir, dataDir+"/") {
		job.Spec.Checkpoint.PVC.ClaimName = from.DataVolume.ClaimName
	}
	c.savesBelow(at.Child("checkpointDir"))
	if from.CheckpointInterval != nil {
		c.epochs(at.Child("checkpointInterval"), *from.CheckpointInterval)
	}
}

// savesBelow says what changes for a trainer whose checkpoints the operator is to know.
func (c *conversion) savesBelow(path *field.Path) {
	c.warn(path, "to be resumed, the trainer has to save in the directory that CHECKPOINT_DIR names, and to "+
		"load the checkpoint that RESUME_FROM_CHECKPOINT names")
}

// epochs says what becomes of an interval in epochs.
func (c *conversion) epochs(path *field.Path, n int32) {
	c.warn(path, "%d counts epochs, checkpoint.interval counts seconds: the default of 300 seconds holds, and "+
		"the trainer has to count epochs itself", n)
}

// requestGPUs adds GPUs to requests and limits. What the document says of the same resource stays.
func requestGPUs(r *corev1.ResourceRequirements, gpus int32) {
	if gpus <= 0 {
		return
	}
	for _, list := range []*corev1.ResourceList{&r.Requests, &r.Limits} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		if _, has := (*list)[gpuResource]; !has {
			(*list)[gpuResource] = resource.MustParse(fmt.Sprint(gpus))
		}
	}
}

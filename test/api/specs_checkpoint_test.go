package api_test

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func checkpoints(c v1alpha1.CheckpointSpec) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint = &c }
}

func hyperparameters(all map[string]v1alpha1.HyperparameterValue) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.Hyperparameters = all }
}

func checkpointSpecs() map[string]spec {
	const at = "spec.checkpoint."
	size := resource.MustParse("200Gi")
	return map[string]spec{
		"checkpoints with every default": {reason: "a claim is made", edit: checkpoints(v1alpha1.CheckpointSpec{})},
		"checkpoints turned off": {reason: "as if the block were absent",
			edit: checkpoints(v1alpha1.CheckpointSpec{Enabled: ptr.To(false)})},
		"a claim to be made": {reason: "all of its fields", edit: checkpoints(v1alpha1.CheckpointSpec{
			Interval: ptr.To[int32](600), Storage: v1alpha1.StoragePVC, Path: "/data/checkpoints",
			KeepLast: ptr.To[int32](5), GraceSeconds: ptr.To[int32](120),
			PVC: v1alpha1.CheckpointClaim{Size: &size, StorageClassName: ptr.To("nfs"),
				AccessMode: corev1.ReadWriteMany, Retain: v1alpha1.DeleteClaim},
		})},
		"a claim of no class": {
			reason: "a volume that exists already",
			edit:   checkpoints(v1alpha1.CheckpointSpec{PVC: v1alpha1.CheckpointClaim{StorageClassName: ptr.To("")}}),
		},
		"a claim that exists": {
			reason: "the user brings it", edit: checkpoints(v1alpha1.CheckpointSpec{
				PVC: v1alpha1.CheckpointClaim{ClaimName: "models"},
			}),
		},
		"both kinds of claim": {
			reason: "which one would be used?",
			edit: checkpoints(v1alpha1.CheckpointSpec{PVC: v1alpha1.CheckpointClaim{ClaimName: "models",
				Size: &size}}),
			fields: []string{at + "pvc.claimName"}, says: "remove claimName, or all the others",
		},
		"a claim's name that is none": {
			reason: "no claim can have it",
			edit:   checkpoints(v1alpha1.CheckpointSpec{PVC: v1alpha1.CheckpointClaim{ClaimName: "My_Models"}}),
			fields: []string{at + "pvc.claimName"}, says: "lower-case letters",
		},
		"a storage class that is none": {
			reason: "no class can have it",
			edit: checkpoints(v1alpha1.CheckpointSpec{
				PVC: v1alpha1.CheckpointClaim{StorageClassName: ptr.To("A B")},
			}),
			fields: []string{at + "pvc.storageClassName"}, says: "lower-case letters",
		},
		"a claim of no size": {
			reason: "nothing fits", goOnly: true,
			edit: checkpoints(v1alpha1.CheckpointSpec{
				PVC: v1alpha1.CheckpointClaim{Size: ptr.To(resource.MustParse("0"))},
			}),
			fields: []string{at + "pvc.size"}, says: "more than 0",
		},
		"an unknown access mode": {
			reason: "ranks must write", edit: checkpoints(v1alpha1.CheckpointSpec{
				PVC: v1alpha1.CheckpointClaim{AccessMode: corev1.ReadOnlyMany},
			}),
			fields: []string{at + "pvc.accessMode"}, says: `supported values: "`,
		},
		"an unknown retain policy": {
			reason: "a model is at stake", edit: checkpoints(v1alpha1.CheckpointSpec{
				PVC: v1alpha1.CheckpointClaim{Retain: "Keep"},
			}),
			fields: []string{at + "pvc.retain"}, says: `supported values: "`,
		},
		"an unknown storage": {
			reason: "it would be ignored", edit: checkpoints(v1alpha1.CheckpointSpec{Storage: "ftp",
				URI: "az://acme/models/bert"}),
			fields: []string{at + "storage"}, says: `supported values: "`,
		},
		"interval 0": {
			reason: "means nothing", edit: checkpoints(v1alpha1.CheckpointSpec{Interval: ptr.To[int32](0)}),
			fields: []string{at + "interval"}, says: "1",
		},
		"keepLast 0": {
			reason: "the newest is always kept",
			edit:   checkpoints(v1alpha1.CheckpointSpec{KeepLast: ptr.To[int32](0)}),
			fields: []string{at + "keepLast"}, says: "1",
		},
		"a grace of a week": {
			reason: "a preemption must end",
			edit:   checkpoints(v1alpha1.CheckpointSpec{GraceSeconds: ptr.To[int32](604800)}),
			fields: []string{at + "graceSeconds"}, says: "86400",
		},
		"resumeFrom a step": {reason: "it is looked for on the volume",
			edit: checkpoints(v1alpha1.CheckpointSpec{ResumeFrom: "1200"})},
		"resumeFrom a URI": {reason: "status.checkpoint shows it",
			edit: checkpoints(v1alpha1.CheckpointSpec{ResumeFrom: "pvc://bert-checkpoints/attempt-1/step-1200"})},
		"resumeFrom a path": {
			reason: "a path is not what the status shows",
			edit:   checkpoints(v1alpha1.CheckpointSpec{ResumeFrom: "/checkpoints/attempt-1/step-1200"}),
			fields: []string{at + "resumeFrom"}, says: "neither a step nor a checkpoint's URI",
		},
		"resumeFrom of a thousand bytes": {
			reason: "no URI of a job is as long",
			edit:   checkpoints(v1alpha1.CheckpointSpec{ResumeFrom: "pvc://a/" + strings.Repeat("b", 2000)}),
			fields: []string{at + "resumeFrom"}, says: "1024",
		},
		"resumeFrom a step on an object store": {
			reason: "only the trainer can look there",
			edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert",
				ResumeFrom: "1200"}),
			fields: []string{at + "resumeFrom"}, says: "write the checkpoint's URI",
		},
		"a relative path": {
			reason: "it cannot be mounted", edit: checkpoints(v1alpha1.CheckpointSpec{Path: "checkpoints"}),
			fields: []string{at + "path"}, says: "such as /checkpoints",
		},
		"a path with ..": {
			reason: "it leads out", edit: checkpoints(v1alpha1.CheckpointSpec{Path: "/data/../etc"}),
			fields: []string{at + "path"}, says: "without '..'",
		},
		"s3": {reason: "the trainer writes there",
			edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert",
				CredentialsSecretRef: &v1alpha1.SecretReference{Name: "aws"}})},
		"gcs": {reason: "the trainer writes there",
			edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageGCS, URI: "gs://models"})},
		"azure": {reason: "the trainer writes there",
			edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageAzure, URI: "az://acme/models/bert"})},
		"s3 without a place": {
			reason: "where to?", edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3}),
			fields: []string{at + "uri"}, says: "set uri to s3://",
		},
		"gcs with an s3 URI": {
			reason: "which one is meant?", edit: checkpoints(v1alpha1.CheckpointSpec{
				Storage: v1alpha1.StorageGCS, URI: "s3://models/bert",
			}),
			fields: []string{at + "uri"}, says: "gs://<bucket>/<key> for gcs",
		},
		"azure by https": {
			reason: "not a place but a server",
			edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageAzure,
				URI: "https://acme.blob.core.windows.net/models"}),
			fields: []string{at + "uri"}, says: "az://<account>/<container>/<key>",
		},
		"a URI with credentials": {
			reason: "they would be in every status", goOnly: true,
			edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3,
				URI: "s3://key:secret@models/bert"}),
			fields: []string{at + "uri"}, says: "credentials",
		},
		"a URI with ..": {
			reason: "it leads out", goOnly: true,
			edit:   checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/../others"}),
			fields: []string{at + "uri"}, says: "..",
		},
		"s3 with a path": {
			reason: "nothing is mounted", edit: checkpoints(v1alpha1.CheckpointSpec{
				Storage: v1alpha1.StorageS3, URI: "s3://models/bert", Path: "/checkpoints",
			}),
			fields: []string{at + "storage"}, says: "remove those of the other kind",
		},
		"pvc with credentials": {
			reason: "pvc storage does not use credentials",
			edit:   checkpoints(v1alpha1.CheckpointSpec{CredentialsSecretRef: &v1alpha1.SecretReference{Name: "aws"}}),
			fields: []string{at + "storage"}, says: "remove those of the other kind",
		},
		"a secret's name that is none": {
			reason: "no secret can have it",
			edit: checkpoints(v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert",
				CredentialsSecretRef: &v1alpha1.SecretReference{Name: "AWS keys"}}),
			fields: []string{at + "credentialsSecretRef.name"}, says: "lower-case letters",
		},
		"a trainer without a command": {
			reason: "the agent cannot run what it does not know", full: true, goOnly: true,
			edit: func(j *v1alpha1.TrainingJob) {
				checkpoints(v1alpha1.CheckpointSpec{})(j)
				editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) {
					r.Template.Spec.Containers[0].Command = nil
				})(j)
			},
			fields: []string{"spec.replicaSpecs.Worker.template.spec.containers.0.command"},
			says:   `container "pytorch" has no command`,
		},
		"a trainer without a command, checkpoints off": {
			reason: "the image's own command is run", full: true,
			edit: func(j *v1alpha1.TrainingJob) {
				checkpoints(v1alpha1.CheckpointSpec{Enabled: ptr.To(false)})(j)
				editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) {
					r.Template.Spec.Containers[0].Command = nil
				})(j)
			},
		},
		"a resume point of one's own": {
			reason: "ranks could differ",
			edit: func(j *v1alpha1.TrainingJob) {
				checkpoints(v1alpha1.CheckpointSpec{})(j)
				j.Spec.Env = []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "RESUME_FROM_CHECKPOINT", Value: "/mine"}}
			},
			fields: []string{"spec.env.1.name"}, says: "is set by the operator",
		},
		"a mount in the checkpoints' place": {
			reason: "the API server refuses the pod", goOnly: true,
			edit: func(j *v1alpha1.TrainingJob) {
				checkpoints(v1alpha1.CheckpointSpec{})(j)
				j.Spec.Volumes = []corev1.Volume{{Name: "data",
					VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
				j.Spec.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/checkpoints"}}
			},
			fields: []string{"spec.volumeMounts.0.mountPath"}, says: "or set spec.checkpoint.path",
		},
		"a volume of the operator's name": {
			reason: "the API server refuses the pod",
			edit: func(j *v1alpha1.TrainingJob) {
				checkpoints(v1alpha1.CheckpointSpec{})(j)
				j.Spec.Volumes = []corev1.Volume{{Name: "trainingjob-agent",
					VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			},
			fields: []string{"spec.volumes.0.name"}, says: "choose another",
		},
		"hyperparameters": {
			reason: "any sensible name", edit: hyperparameters(map[string]v1alpha1.HyperparameterValue{
				"learningRate": "0.001", "batch-size": "32", "optim.beta_1": "",
			}),
		},
		"two hyperparameters of one variable": {
			reason: "one would hide the other", goOnly: true,
			edit:   hyperparameters(map[string]v1alpha1.HyperparameterValue{"batch-size": "1", "Batch_Size": "2"}),
			fields: []string{"spec.hyperparameters.batch-size"}, says: "HYPERPARAM_BATCH_SIZE, as Batch_Size does",
		},
		"a hyperparameter without a name": {
			reason: "no variable comes of it", goOnly: true,
			edit:   hyperparameters(map[string]v1alpha1.HyperparameterValue{"-": "1"}),
			fields: []string{"spec.hyperparameters.-"}, says: "begin with a letter or digit",
		},
		"too many hyperparameters": {
			reason: "a pod's environment has bounds", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Hyperparameters = map[string]v1alpha1.HyperparameterValue{}
				for i := range 65 {
					j.Spec.Hyperparameters[fmt.Sprint("p", i)] = "x"
				}
			},
			fields: []string{"spec.hyperparameters"}, says: "64",
		},
		"a hyperparameter that is a book": {
			reason: "a pod's environment has bounds",
			edit: hyperparameters(map[string]v1alpha1.HyperparameterValue{
				"prompt": v1alpha1.HyperparameterValue(longName(1025)),
			}),
			fields: []string{"spec.hyperparameters.prompt"}, says: "1024", goOnly: true,
		},
	}
}

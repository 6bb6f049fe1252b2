package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Bounds of spec.checkpoint, as in the CRD's schema.
const (
	maxInterval     = 7 * 24 * 3600 // seconds
	maxKeepLast     = 1000
	maxGraceSeconds = 24 * 3600
	maxResumeFrom   = 1024
)

var mountPath = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._=+@,~-]*)+$`)

// validateCheckpoint checks that the job describes one storage completely, and that the agent can run every
// role's trainer.
func validateCheckpoint(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	c := job.Spec.Checkpoint
	if c == nil {
		return nil
	}
	errs := slices.Concat(
		oneOf(path.Child("storage"), c.Storage,
			v1alpha1.StoragePVC, v1alpha1.StorageS3, v1alpha1.StorageGCS, v1alpha1.StorageAzure),
		inRange(path.Child("interval"), c.Interval, 1, maxInterval),
		inRange(path.Child("keepLast"), c.KeepLast, 1, maxKeepLast),
		inRange(path.Child("graceSeconds"), c.GraceSeconds, 1, maxGraceSeconds),
		validateClaim(&c.PVC, path.Child("pvc")),
		validateStorage(c, path),
		validateResumeFrom(c, path.Child("resumeFrom")))
	if spec.Checkpoints(job) == nil {
		return errs
	}
	for _, t := range templates(job) {
		errs = append(errs, validateTrainer(job, t)...)
	}
	return errs
}

var resumeFrom = regexp.MustCompile(
	`^(0|[1-9][0-9]{0,14}|(pvc|s3|gs|az|abfss)://[A-Za-z0-9._=+@,~/-]+)$`)

// validateResumeFrom checks the form of a resume point.
func validateResumeFrom(c *v1alpha1.CheckpointSpec, path *field.Path) field.ErrorList {
	isURI := strings.Contains(c.ResumeFrom, "://")
	switch {
	case c.ResumeFrom == "":
		return nil
	case len(c.ResumeFrom) > maxResumeFrom:
		return field.ErrorList{field.TooLong(path, "", maxResumeFrom)}
	case !resumeFrom.MatchString(c.ResumeFrom):
		return field.ErrorList{field.Invalid(path, "", "neither a step nor a checkpoint's URI: "+
			"write a number such as '1200', or a URI of status.checkpoint")}
	case !isURI && !spec.OnVolume(c):
		return field.ErrorList{field.Invalid(path, c.ResumeFrom, "the operator cannot search an object store "+
			"for a step: write the checkpoint's URI")}
	}
	return nil
}

// ValidateRequest returns why no attempt can resume from spec.checkpoint.resumeFrom, as far as the status
// shows it. Validate checks only the spec, as the CRD's schema does.
func ValidateRequest(job *v1alpha1.TrainingJob) field.ErrorList {
	c := spec.Checkpoints(job)
	if c == nil || c.ResumeFrom == "" {
		return nil
	}
	refuse := func(format string, args ...any) field.ErrorList {
		at := field.NewPath("spec", "checkpoint", "resumeFrom")
		return field.ErrorList{field.Invalid(at, c.ResumeFrom, fmt.Sprintf(format, args...))}
	}
	const remedy = "set it to a complete checkpoint of this job, or remove it to resume from the latest one"
	uri, err := checkpoint.ParseURI(c.ResumeFrom)
	isURI := err == nil
	switch cs := job.Status.Checkpoint; {
	case job.Status.Attempt == 0:
		return refuse("the job is new and has no checkpoint: remove it, and see 'Continue what another job has " +
			"trained' in docs/checkpoints.md")
	case isURI && !spec.OwnsCheckpoint(job, c.ResumeFrom):
		base, _ := spec.CheckpointURI(job)
		return refuse("the job's checkpoints lie below %s, and this one does not: %s", base, remedy)
	case isURI && !spec.OnVolume(c) && checkpoint.StepOf(uri.Path) < 0:
		return refuse("the name has no step, and the operator does not read object stores: "+
			"write a URI that ends in a step, such as %s", uri.String()+"/step-1200")
	case cs != nil && cs.Requested != nil && cs.Requested.Problem != "" && spec.OpenRequest(job) == "":
		return refuse("%s: %s", cs.Requested.Problem, remedy)
	}
	return nil
}

// validateClaim checks the claim that the operator creates, or the name of an existing claim.
func validateClaim(c *v1alpha1.CheckpointClaim, path *field.Path) field.ErrorList {
	errs := slices.Concat(
		oneOf(path.Child("accessMode"), c.AccessMode, corev1.ReadWriteOnce, corev1.ReadWriteMany),
		oneOf(path.Child("retain"), c.Retain, v1alpha1.RetainClaim, v1alpha1.DeleteClaim),
		optionalName(path.Child("claimName"), c.ClaimName, "PersistentVolumeClaim"))
	if class := c.StorageClassName; class != nil {
		errs = append(errs, optionalName(path.Child("storageClassName"), *class, "StorageClass")...)
	}
	if c.Size != nil && c.Size.Sign() <= 0 {
		errs = append(errs, field.Invalid(path.Child("size"), c.Size.String(),
			"a claim has a size: give more than 0"))
	}
	if c.ClaimName != "" && *c != (v1alpha1.CheckpointClaim{ClaimName: c.ClaimName}) {
		errs = append(errs, field.Invalid(path.Child("claimName"), c.ClaimName, "claimName names a claim that "+
			"exists, the other fields describe one to be created: remove claimName, or all the others"))
	}
	return errs
}

// validateStorage checks that the fields of one kind of storage are given, and only those.
func validateStorage(c *v1alpha1.CheckpointSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Path != "" && !mountPath.MatchString(c.Path) {
		errs = append(errs, field.Invalid(path.Child("path"), c.Path, "not the path of a directory to mount: "+
			"write an absolute one without '..', '//' or a slash at its end, such as /checkpoints"))
	}
	mixed := c.Path != "" || c.PVC != (v1alpha1.CheckpointClaim{})
	if spec.OnVolume(c) {
		mixed = c.URI != "" || c.CredentialsSecretRef != nil
	}
	if mixed {
		errs = append(errs, field.Invalid(path.Child("storage"), c.Storage, "path and pvc belong to storage pvc, "+
			"uri and credentialsSecretRef to s3, gcs and azure: remove those of the other kind, "+
			"or choose the storage that they belong to"))
	}
	if ref := c.CredentialsSecretRef; ref != nil && !isName(ref.Name) {
		at := path.Child("credentialsSecretRef", "name")
		errs = append(errs, field.Invalid(at, ref.Name, notAName("Secret")))
	}
	if spec.OnVolume(c) {
		return errs
	}
	return append(errs, validateObjectStore(c, path.Child("uri"))...)
}

// schemes of the URIs of an object store.
var schemes = map[v1alpha1.CheckpointStorage][]string{
	v1alpha1.StorageS3:    {"s3"},
	v1alpha1.StorageGCS:   {"gs"},
	v1alpha1.StorageAzure: {"az", "abfss"},
}

// validateObjectStore checks the URI of an object store. Its errors show the scheme alone, because a URI may
// hold credentials.
func validateObjectStore(c *v1alpha1.CheckpointSpec, path *field.Path) field.ErrorList {
	scheme, _, _ := strings.Cut(c.URI, "://")
	known := schemes[c.Storage]
	if c.URI == "" || known != nil && !slices.Contains(known, scheme) {
		return field.ErrorList{field.Invalid(path, scheme, "an object store needs a URI: "+
			"set uri to s3://<bucket>/<key> for s3, gs://<bucket>/<key> for gcs, "+
			"az://<account>/<container>/<key> or "+
			"abfss://<container>@<account>.dfs.core.windows.net/<key> for azure")}
	}
	if _, err := checkpoint.ParseURI(c.URI); err != nil {
		return field.ErrorList{field.Invalid(path, scheme, err.Error())}
	}
	return nil
}

// validateTrainer checks that the agent can run the trainer of a role, and that the trainer does not use the
// mount path of the checkpoints.
func validateTrainer(job *v1alpha1.TrainingJob, t template) field.ErrorList {
	trainer, path := t.trainer(job)
	if trainer == nil {
		return nil // validateTemplates finds that
	}
	errs := validateWrapped(job, t, "looks after its checkpoints", "remove spec.checkpoint")
	c := job.Spec.Checkpoint
	if !spec.OnVolume(c) {
		return errs
	}
	for i, m := range trainer.VolumeMounts {
		if strings.TrimSuffix(m.MountPath, "/") == spec.MountPath(c) {
			at := path.Child("volumeMounts").Index(i).Child("mountPath")
			errs = append(errs, field.Invalid(at, m.MountPath, "the checkpoints' claim is mounted there: "+
				"remove this mount (and name its claim in spec.checkpoint.pvc.claimName), "+
				"or set spec.checkpoint.path"))
		}
	}
	return errs
}

// validateWrapped checks that the trainer of a role has a command, which the agent can run, and that it does
// not use the operator's environment variables. task of the agent and remedy go into the messages.
func validateWrapped(job *v1alpha1.TrainingJob, t template, task, remedy string) field.ErrorList {
	trainer, path := t.trainer(job)
	if trainer == nil {
		return nil // validateTemplates finds that
	}
	var errs field.ErrorList
	// validateForm requires one in the simple form, and validateMPI for framework mpi.
	if len(trainer.Command) == 0 && !t.simple && !spec.NeedsSSH(job) {
		errs = append(errs, field.Required(path.Child("command"), fmt.Sprintf(
			"container %q has no command, so the agent that %s cannot run it: "+
				"write the image's own entrypoint here, or %s", trainer.Name, task, remedy)))
	}
	for i, e := range trainer.Env {
		if slices.Contains(spec.ContractEnv, e.Name) {
			errs = append(errs, field.Forbidden(path.Child("env").Index(i).Child("name"), e.Name+
				" is set by the operator, to the same value in every rank: remove it, or "+remedy))
		}
	}
	return errs
}

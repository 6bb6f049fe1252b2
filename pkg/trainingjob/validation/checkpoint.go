package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

var (
	hyperparameterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	checkpointPath     = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._=+@,~-]*)+$`)
)

const (
	maxHyperparameters     = 64
	maxHyperparameterValue = 1024
)

// validateHyperparameters: every name makes a variable of its own.
func validateHyperparameters(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	all := job.Spec.Hyperparameters
	var errs field.ErrorList
	if len(all) > maxHyperparameters {
		errs = append(errs, field.TooMany(path, len(all), maxHyperparameters))
	}
	first := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env := spec.HyperparameterEnv(name)
		switch other, taken := first[env]; {
		case !hyperparameterName.MatchString(name):
			errs = append(errs, field.Invalid(path.Key(name), name,
				"not a name: begin with a letter or digit, then use letters, digits, '_', '-' and '.', at most 63"))
		case taken:
			errs = append(errs, field.Invalid(path.Key(name), name, fmt.Sprintf("becomes the variable %s, as %s does: rename one", env, other)))
		default:
			first[env] = name
		}
		if len(all[name]) > maxHyperparameterValue {
			errs = append(errs, field.TooLong(path.Key(name), "", maxHyperparameterValue))
		}
		if strings.ContainsRune(string(all[name]), 0) {
			errs = append(errs, field.Invalid(path.Key(name), "", "has a zero byte, which no variable can hold: remove it"))
		}
	}
	return errs
}

// validateCheckpoint: one storage, whole, and pods that the agent can be put into.
func validateCheckpoint(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	c := job.Spec.Checkpoint
	if c == nil {
		return nil
	}
	path = path.Child("checkpoint")
	errs := slices.Concat(
		oneOf(path.Child("storage"), c.Storage, []v1alpha1.CheckpointStorage{v1alpha1.StoragePVC, v1alpha1.StorageS3, v1alpha1.StorageGCS, v1alpha1.StorageAzure}),
		inRange(path.Child("interval"), c.Interval, 1, 604800),
		inRange(path.Child("keepLast"), c.KeepLast, 1, 1000),
		inRange(path.Child("graceSeconds"), c.GraceSeconds, 1, 86400),
		validateClaim(&c.PVC, path.Child("pvc")),
		validatePlace(c, path))
	if spec.Checkpoints(job) == nil {
		return errs
	}
	for _, t := range templates(job) {
		errs = append(errs, validateWrapped(job, t.pod, t.path)...)
	}
	return errs
}

func validatePlace(c *v1alpha1.CheckpointSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Path != "" && !checkpointPath.MatchString(c.Path) {
		errs = append(errs, field.Invalid(path.Child("path"), c.Path, "not the path of a directory to mount: write an absolute one "+
			"without '..', '//' or a slash at its end, such as /checkpoints"))
	}
	mixed := c.Path != "" || c.PVC != (v1alpha1.CheckpointClaim{})
	if spec.OnVolume(c) {
		mixed = c.URI != "" || c.CredentialsSecretRef != nil
	}
	if mixed {
		errs = append(errs, field.Invalid(path.Child("storage"), c.Storage, "path and pvc belong to storage pvc, uri and credentialsSecretRef to s3, "+
			"gcs and azure: remove those of the other kind, or choose the storage that they belong to"))
	}
	if ref := c.CredentialsSecretRef; ref != nil && len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		errs = append(errs, field.Invalid(path.Child("credentialsSecretRef", "name"), ref.Name, notAName("Secret")))
	}
	if spec.OnVolume(c) {
		return errs
	}
	schemes := map[v1alpha1.CheckpointStorage][]string{
		v1alpha1.StorageS3: {"s3"}, v1alpha1.StorageGCS: {"gs"}, v1alpha1.StorageAzure: {"az", "abfss"},
	}
	scheme, _, _ := strings.Cut(c.URI, "://")
	switch _, err := checkpoint.ParseURI(c.URI); {
	case c.URI == "" || schemes[c.Storage] != nil && !slices.Contains(schemes[c.Storage], scheme):
		errs = append(errs, field.Invalid(path.Child("uri"), scheme, "an object store needs the place to save to: set uri to s3://<bucket>/<key> for s3, "+
			"gs://<bucket>/<key> for gcs, az://<account>/<container>/<key> or abfss://<container>@<account>.dfs.core.windows.net/<key> for azure"))
	case err != nil: // it does not repeat credentials
		errs = append(errs, field.Invalid(path.Child("uri"), scheme, err.Error()))
	}
	return errs
}

func validateClaim(c *v1alpha1.CheckpointClaim, path *field.Path) field.ErrorList {
	errs := slices.Concat(
		oneOf(path.Child("accessMode"), c.AccessMode, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany}),
		oneOf(path.Child("retain"), c.Retain, []v1alpha1.RetainPolicy{v1alpha1.RetainClaim, v1alpha1.DeleteClaim}))
	if c.ClaimName != "" && len(validation.IsDNS1123Subdomain(c.ClaimName)) > 0 {
		errs = append(errs, field.Invalid(path.Child("claimName"), c.ClaimName, notAName("PersistentVolumeClaim")))
	}
	if s := c.StorageClassName; s != nil && *s != "" && len(validation.IsDNS1123Subdomain(*s)) > 0 {
		errs = append(errs, field.Invalid(path.Child("storageClassName"), *s, notAName("StorageClass")))
	}
	if c.Size != nil && c.Size.Sign() <= 0 {
		errs = append(errs, field.Invalid(path.Child("size"), c.Size.String(), "a claim has a size: give more than 0"))
	}
	if c.ClaimName != "" && *c != (v1alpha1.CheckpointClaim{ClaimName: c.ClaimName}) {
		errs = append(errs, field.Invalid(path.Child("claimName"), c.ClaimName, "claimName names a claim that exists, the other fields describe one to be "+
			"created: remove claimName, or all the others"))
	}
	return errs
}

// placedTemplate is a role's pod spec with the path that errors name.
type placedTemplate struct {
	pod  *corev1.PodSpec
	path *field.Path
}

// templates of the job; the simple form's fields stand in the spec itself.
func templates(job *v1alpha1.TrainingJob) []placedTemplate {
	path := field.NewPath("spec")
	var all []placedTemplate
	for _, role := range spec.Roles(job) {
		t := placedTemplate{&role.Template.Spec, path}
		if len(job.Spec.ReplicaSpecs) > 0 {
			t.path = path.Child("replicaSpecs").Key(string(role.Name)).Child("template", "spec")
		}
		all = append(all, t)
	}
	return all
}

// validateWrapped: the trainer has a command that the agent can run, and leaves the contract's names alone.
func validateWrapped(job *v1alpha1.TrainingJob, pod *corev1.PodSpec, path *field.Path) field.ErrorList {
	if len(pod.Containers) == 0 {
		return nil // said elsewhere
	}
	trainer := spec.Framework(job).Trainer(pod)
	at := path
	if path.String() != "spec" {
		at = path.Child("containers").Index(slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == trainer.Name }))
	}
	var errs field.ErrorList
	if len(trainer.Command) == 0 && path.String() != "spec" { // the simple form always needs one
		errs = append(errs, field.Required(at.Child("command"), fmt.Sprintf("container %q has no command, so the agent that looks after its checkpoints "+
			"cannot run it: write the image's own entrypoint here, or remove spec.checkpoint", trainer.Name)))
	}
	for i, e := range trainer.Env {
		if slices.Contains(spec.ContractEnv, e.Name) {
			errs = append(errs, field.Forbidden(at.Child("env").Index(i).Child("name"),
				e.Name+" is set by the operator, to the same value in every rank: remove it, or remove spec.checkpoint"))
		}
	}
	if c := job.Spec.Checkpoint; spec.OnVolume(c) {
		for i, m := range trainer.VolumeMounts {
			if strings.TrimSuffix(m.MountPath, "/") == spec.MountPath(c) {
				errs = append(errs, field.Invalid(at.Child("volumeMounts").Index(i).Child("mountPath"), m.MountPath,
					"the checkpoints' claim is mounted there: remove this mount (and name its claim in spec.checkpoint.pvc.claimName), or set spec.checkpoint.path"))
			}
		}
	}
	return errs
}

// validateOurNames: what the operator adds to every pod keeps its names.
func validateOurNames(job *v1alpha1.TrainingJob) field.ErrorList {
	var errs field.ErrorList
	forbid := func(path *field.Path, name string) {
		errs = append(errs, field.Invalid(path, name, "names that begin with "+spec.ReservedName+", and paths below "+spec.ReservedDir+", are the operator's: choose another"))
	}
	for _, t := range templates(job) {
		for i, v := range t.pod.Volumes {
			if strings.HasPrefix(v.Name, spec.ReservedName) {
				forbid(t.path.Child("volumes").Index(i).Child("name"), v.Name)
			}
		}
		for _, list := range []struct {
			name       string
			containers []corev1.Container
		}{{"initContainers", t.pod.InitContainers}, {"containers", t.pod.Containers}} {
			for i, c := range list.containers {
				at := t.path
				if len(job.Spec.ReplicaSpecs) > 0 {
					at = t.path.Child(list.name).Index(i)
				}
				if strings.HasPrefix(c.Name, spec.ReservedName) {
					forbid(at.Child("name"), c.Name)
				}
				for j, m := range c.VolumeMounts {
					if m.MountPath == spec.ReservedDir || strings.HasPrefix(m.MountPath, spec.ReservedDir+"/") {
						forbid(at.Child("volumeMounts").Index(j).Child("mountPath"), m.MountPath)
					}
				}
			}
		}
	}
	return errs
}

package validation

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxReplicas of one role, as the CRD's schema has it: a slip of the finger must not become a million pods.
const maxReplicas = 10000

// Validate says what is wrong with a job, every error with the field and what to change. It repeats the
// invariants of the CRD (api/v1alpha1/rules.yaml) for clusters that do not enforce them, and adds what CEL
// cannot see: the job's labels and annotations, and what in a pod template every API server refuses. It knows
// neither the cluster nor the job's past: changes of a running job are the CRD's business. The order of
// errors is fixed.
func Validate(job *v1alpha1.TrainingJob) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateForm(&job.Spec, path)
	errs = append(errs, validateReplicas(&job.Spec, path)...)
	errs = append(errs, validateRoles(&job.Spec, path)...)
	errs = append(errs, validateRestarts(job, path)...)
	errs = append(errs, validateRunPolicy(&job.Spec.RunPolicy, path.Child("runPolicy"))...)
	errs = append(errs, validateScheduling(job, path.Child("runPolicy", "schedulingPolicy"))...)
	errs = append(errs, validateQueue(job, path.Child("runPolicy", "schedulingPolicy", "queue"))...)
	errs = append(errs, validateName(job)...)
	errs = append(errs, validateTemplates(job, path)...)
	errs = append(errs, validateHyperparameters(job, path.Child("hyperparameters"))...)
	errs = append(errs, validateCheckpoint(job, path)...)
	if len(job.Spec.Hyperparameters) > 0 || spec.Checkpoints(job) != nil || spec.Framework(job).Files != nil {
		// else nothing of a reserved name is added to the pods
		errs = append(errs, validateOurNames(job)...)
	}
	return errs
}

// validateForm: the simple form or replicaSpecs, one of them whole.
func validateForm(s *v1alpha1.TrainingJobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, known := framework.Get(string(s.Framework)); !known {
		errs = append(errs, field.NotSupported(path.Child("framework"), s.Framework, framework.Names()))
	}
	if len(s.ReplicaSpecs) == 0 {
		if s.Image == "" {
			errs = append(errs, field.Required(path.Child("image"),
				"the simple form needs the ranks' container image: set spec.image, or give spec.replicaSpecs instead"))
		}
		if len(s.Command) == 0 {
			errs = append(errs, field.Required(path.Child("command"),
				"the simple form needs the program to run: set spec.command, or give spec.replicaSpecs instead"))
		}
		return errs
	}
	r := s.Resources
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"image", s.Image != ""}, {"command", s.Command != nil}, {"args", s.Args != nil}, {"env", s.Env != nil},
		{"envFrom", s.EnvFrom != nil}, {"replicas", s.Replicas != nil},
		{"resources", r.Limits != nil || r.Requests != nil || r.Claims != nil},
		{"volumes", s.Volumes != nil}, {"volumeMounts", s.VolumeMounts != nil}, {"nodeSelector", s.NodeSelector != nil},
		{"tolerations", s.Tolerations != nil}, {"affinity", s.Affinity != nil},
		{"imagePullSecrets", s.ImagePullSecrets != nil}, {"serviceAccountName", s.ServiceAccountName != ""},
		{"securityContext", s.SecurityContext != nil},
	} {
		if f.given {
			errs = append(errs, field.Forbidden(path.Child(f.name), "belongs to the simple form and cannot stand beside "+
				"replicaSpecs: move it into replicaSpecs, or remove replicaSpecs"))
		}
	}
	return errs
}

func validateReplicas(s *v1alpha1.TrainingJobSpec, path *field.Path) field.ErrorList {
	errs := inRange(path.Child("replicas"), s.Replicas, 1, maxReplicas)
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		at := path.Child("replicaSpecs").Key(string(name)).Child("replicas")
		errs = append(errs, inRange(at, s.ReplicaSpecs[name].Replicas, 1, maxReplicas)...)
	}
	return errs
}

// validateRoles: known roles, one leader at most, and somebody whose exit decides the job's success.
func validateRoles(s *v1alpha1.TrainingJobSpec, path *field.Path) field.ErrorList {
	if len(s.ReplicaSpecs) == 0 {
		return nil
	}
	path = path.Child("replicaSpecs")
	var errs field.ErrorList
	var leaders int64
	deciding := false
	known, _ := framework.Get(string(s.Framework))
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		if !slices.Contains(spec.RoleOrder, name) {
			errs = append(errs, field.NotSupported(path, name, spec.RoleOrder))
			continue
		}
		if spec.Leads(name) {
			leaders += int64(spec.Replicas(s.ReplicaSpecs[name].Replicas))
		}
		deciding = deciding || spec.Leads(name) || name == v1alpha1.RoleWorker
		if !known.KnowsRole(string(name)) {
			errs = append(errs, field.Invalid(path, name, known.RolesMessage()))
		}
	}
	if leaders > 1 {
		errs = append(errs, field.Invalid(path, leaders,
			"a job has one leader: give only one of Master, Chief and Launcher, with replicas 1"))
	}
	if !deciding {
		errs = append(errs, field.Required(path,
			"no role decides when the job has succeeded: add a Worker, Master, Chief or Launcher"))
	}
	return errs
}

func validateRestarts(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	s := &job.Spec
	known := []v1alpha1.RestartPolicy{v1alpha1.RestartNever, v1alpha1.RestartOnFailure, v1alpha1.RestartAlways, v1alpha1.RestartExitCode}
	errs := oneOf(path.Child("restartPolicy"), s.RestartPolicy, known)
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		at := path.Child("replicaSpecs").Key(string(name)).Child("restartPolicy")
		errs = append(errs, oneOf(at, s.ReplicaSpecs[name].RestartPolicy, known)...)
	}
	errs = append(errs, inRange(path.Child("backoffLimit"), s.BackoffLimit, 0, math.MaxInt32)...)
	if s.BackoffLimit != nil && s.RunPolicy.BackoffLimit != nil {
		errs = append(errs, field.Forbidden(path.Child("backoffLimit"),
			"backoffLimit is given twice: remove spec.backoffLimit or spec.runPolicy.backoffLimit"))
	}
	var policies []v1alpha1.RestartPolicy
	for _, role := range spec.Roles(job) {
		if !slices.Contains(policies, role.RestartPolicy) {
			policies = append(policies, role.RestartPolicy)
		}
	}
	if s.RunPolicy.RestartScope == v1alpha1.ScopeGang && slices.Contains(policies, v1alpha1.RestartAlways) {
		errs = append(errs, field.Invalid(path.Child("runPolicy", "restartScope"), s.RunPolicy.RestartScope,
			"restartPolicy Always restarts single ranks in place, which restartScope Gang rules out: "+
				"set spec.runPolicy.restartScope to Rank, or choose another restartPolicy"))
	}
	if spec.Scope(job) == v1alpha1.ScopeGang && len(policies) > 1 {
		errs = append(errs, field.Invalid(path.Child("replicaSpecs"), policies,
			"the roles' restartPolicy differ, but a gang restarts as one: give them the same restartPolicy, "+
				"or set spec.runPolicy.restartScope to Rank"))
	}
	return errs
}

func validateRunPolicy(p *v1alpha1.RunPolicy, path *field.Path) field.ErrorList {
	return slices.Concat(
		oneOf(path.Child("cleanPodPolicy"), p.CleanPodPolicy,
			[]v1alpha1.CleanPodPolicy{v1alpha1.CleanPodAll, v1alpha1.CleanPodRunning, v1alpha1.CleanPodNone}),
		inRange(path.Child("ttlSecondsAfterFinished"), p.TTLSecondsAfterFinished, 0, math.MaxInt32),
		inRange(path.Child("activeDeadlineSeconds"), p.ActiveDeadlineSeconds, 1, math.MaxInt64),
		inRange(path.Child("backoffLimit"), p.BackoffLimit, 0, math.MaxInt32),
		oneOf(path.Child("restartScope"), p.RestartScope, []v1alpha1.RestartScope{v1alpha1.ScopeGang, v1alpha1.ScopeRank}))
}

func validateScheduling(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	p := job.Spec.RunPolicy.SchedulingPolicy
	errs := slices.Concat(
		oneOf(path.Child("scheduler"), p.Scheduler, []v1alpha1.SchedulerName{v1alpha1.SchedulerVolcano, v1alpha1.SchedulerKueue, v1alpha1.SchedulerCoscheduling, v1alpha1.SchedulerNative}),
		inRange(path.Child("minAvailable"), p.MinAvailable, 1, math.MaxInt32),
		inRange(path.Child("scheduleTimeoutSeconds"), p.ScheduleTimeoutSeconds, 1, math.MaxInt32))
	if ranks := spec.Ranks(job); p.MinAvailable != nil && *p.MinAvailable > ranks {
		errs = append(errs, field.Invalid(path.Child("minAvailable"), *p.MinAvailable, fmt.Sprintf(
			"minAvailable %d exceeds the %d ranks: set it to at most %d, or raise replicas", *p.MinAvailable, ranks, ranks)))
	}
	if p.PriorityClass != "" && len(validation.IsDNS1123Subdomain(p.PriorityClass)) > 0 {
		errs = append(errs, field.Invalid(path.Child("priorityClass"), p.PriorityClass, notAName("PriorityClass")))
	}
	if p.MinResources != nil {
		switch p.Scheduler {
		case v1alpha1.SchedulerNative:
			errs = append(errs, field.Forbidden(path.Child("minResources"),
				"scheduler native takes no notice of minResources: remove it, or use scheduler volcano"))
		case v1alpha1.SchedulerCoscheduling:
			errs = append(errs, field.Forbidden(path.Child("minResources"),
				"scheduler coscheduling neither preempts for minResources nor tries them again when GPUs become free: remove it, or use scheduler volcano"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.MinResources)) {
		if q := p.MinResources[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Child("minResources").Key(string(name)), q.String(),
				"is negative: remove it, to have it computed from the pods"))
		}
	}
	return errs
}

// validateQueue: one queue, whichever of the three places names it, and none in the pods' own metadata.
func validateQueue(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	first, firstPath := "", (*field.Path)(nil)
	for _, source := range []struct {
		path  *field.Path
		queue string
	}{
		{path, job.Spec.RunPolicy.SchedulingPolicy.Queue},
		{field.NewPath("metadata", "labels").Key(v1alpha1.LabelKueueQueue), job.Labels[v1alpha1.LabelKueueQueue]},
		{field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationVolcanoQueue), job.Annotations[v1alpha1.AnnotationVolcanoQueue]},
	} {
		switch {
		case source.queue == "":
			continue
		case len(validation.IsDNS1123Subdomain(source.queue)) > 0:
			errs = append(errs, field.Invalid(source.path, source.queue, notAName("queue")))
		case first != "" && source.queue != first:
			errs = append(errs, field.Invalid(source.path, source.queue, fmt.Sprintf(
				"the queue is given twice, and %s says %q: remove one of the two", firstPath, first)))
		}
		if first == "" {
			first, firstPath = source.queue, source.path
		}
	}
	queueless := []v1alpha1.SchedulerName{v1alpha1.SchedulerNative, v1alpha1.SchedulerCoscheduling}
	if s := job.Spec.RunPolicy.SchedulingPolicy.Scheduler; first != "" && slices.Contains(queueless, s) {
		errs = append(errs, field.Forbidden(firstPath, fmt.Sprintf("scheduler %s has no queues: remove the queue, or use scheduler volcano", s)))
	}
	return errs
}

// validateName: the name is the first part of host names.
func validateName(job *v1alpha1.TrainingJob) field.ErrorList {
	path := field.NewPath("metadata", "name")
	var errs field.ErrorList
	// The length is looked at below: the longest derived name is always longer than the name itself.
	if len(validation.IsDNS1035Label(job.Name[:min(len(job.Name), validation.DNS1035LabelMaxLength)])) > 0 {
		errs = append(errs, field.Invalid(path, job.Name, "metadata.name becomes host names: use lower-case letters, digits "+
			"and '-', beginning with a letter and ending with a letter or digit"))
	}
	longest := 0
	for _, role := range spec.Roles(job) {
		longest = max(longest, len(spec.PodName("", spec.RankRef{Role: role.Name, Index: role.Replicas - 1})))
	}
	if limit := validation.DNS1035LabelMaxLength - longest; len(job.Name) > limit {
		errs = append(errs, field.Invalid(path, job.Name, fmt.Sprintf("metadata.name: the longest pod name made of it, "+
			"<name>-<role>-<index>, exceeds 63 characters: shorten it to %d", limit)))
	}
	return errs
}

// notAName is the CRD's sentence for the same error.
func notAName(what string) string {
	return "not the name of a " + what + ": use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
}

func inRange[N int32 | int64](path *field.Path, value *N, least, most N) field.ErrorList {
	switch {
	case value == nil:
		return nil
	case *value < least:
		return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("must be at least %d", least))}
	case *value > most:
		return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("must be at most %d", most))}
	}
	return nil
}

// oneOf: absent, or one of the known values.
func oneOf[T ~string](path *field.Path, value T, known []T) field.ErrorList {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

package tfjobadmin

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Describer says jobs in the dialect.
type Describer struct {
	// UserKeys are the annotations and labels that name a job's user; the first that it has counts, and an
	// annotation before a label.
	UserKeys []string
	// Runtimes among which that of a job is looked for that does not say it.
	Runtimes []Runtime
}

// Made reports whether a job was made in this dialect.
func Made(job *v1alpha1.TrainingJob) bool { return job.Annotations[AnnotationRuntime] != "" }

// ID names a job for ever, and needs no search: its name and its UID, with a dot between. Neither has a dot.
func ID(job *v1alpha1.TrainingJob) string { return job.Name + "." + string(job.UID) }

// uidLength is that of 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9.
const uidLength = 36

// ParseID splits an ID. One without a UID is the name of a job: the one that has it now, or had it last.
func ParseID(id string) (name string, uid types.UID) {
	i := strings.LastIndexByte(id, '.')
	if i < 0 || len(id)-i-1 != uidLength {
		return id, ""
	}
	return id[:i], types.UID(id[i+1:])
}

// Describe says a job in the dialect, as far as the dialect allows: docs/tfjob.md lists what is not.
func (d Describer) Describe(job *v1alpha1.TrainingJob) Document {
	doc := Document{
		Metadata: Metadata{
			UID: d.user(job), ID: ID(job), Name: job.Name,
			CreationTime: job.CreationTimestamp.UTC(), LastUpdateTime: lastUpdate(job),
		},
		Spec:   d.spec(job),
		Status: Status{Phase: PhaseOf(job.Status.Phase), Replicas: ranks(job.Status.Workers)},
	}
	if job.DeletionTimestamp != nil {
		doc.Metadata.DeletionTime = new(job.DeletionTimestamp.UTC())
	}
	return doc
}

func (d Describer) user(job *v1alpha1.TrainingJob) string {
	for _, key := range d.UserKeys {
		if user := cmp.Or(job.Annotations[key], job.Labels[key]); user != "" {
			return user
		}
	}
	return ""
}

// lastUpdate is the latest time that the job itself tells: of a write to it, or of a change of its phase.
func lastUpdate(job *v1alpha1.TrainingJob) time.Time {
	latest := job.CreationTimestamp.Time
	consider := func(t *metav1.Time) {
		if t != nil && t.After(latest) {
			latest = t.Time
		}
	}
	for i := range job.ManagedFields {
		consider(job.ManagedFields[i].Time)
	}
	for i := range job.Status.Transitions {
		consider(&job.Status.Transitions[i].Time)
	}
	consider(job.Status.CompletionTime)
	return latest.UTC()
}

func (d Describer) spec(job *v1alpha1.TrainingJob) Spec {
	roles := spec.Roles(job)
	described := Spec{
		Description: job.Annotations[AnnotationDescription], Partition: job.Namespace, Args: []string{},
		Replicas: []Replica{}, CheckpointDir: checkpointDir(job),
	}
	if len(roles) == 0 {
		return described
	}
	// The document has one program for all roles: that of the Workers, else of the first role.
	lead := max(slices.IndexFunc(roles, func(r spec.Role) bool { return r.Name == v1alpha1.RoleWorker }), 0)
	trainer := trainerOf(job, &roles[lead])
	described.Runtime, described.Workdir = d.runtime(job, trainer), trainer.WorkingDir
	described.Bootfile, described.Args = program(trainer, Made(job))
	environment(trainer, &described)
	for i := range roles {
		described.Replicas = append(described.Replicas, Replica{
			Type: spec.RoleKey(roles[i].Name), Count: roles[i].Replicas,
			Resource: resourceOf(trainerOf(job, &roles[i])),
		})
	}
	// Workers first, as in the document's examples; then in the order of ranks.
	slices.SortStableFunc(described.Replicas, func(a, b Replica) int {
		return cmp.Compare(boolOrder(a.Type != TypeWorker), boolOrder(b.Type != TypeWorker))
	})
	return described
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

func trainerOf(job *v1alpha1.TrainingJob, role *spec.Role) *corev1.Container {
	return spec.Framework(job).Trainer(&role.Template.Spec)
}

// runtime is what the job says, else the one that has the trainer's image, else that image.
func (d Describer) runtime(job *v1alpha1.TrainingJob, trainer *corev1.Container) string {
	if name := job.Annotations[AnnotationRuntime]; name != "" {
		return name
	}
	for _, r := range d.Runtimes {
		if r.Framework == job.Spec.Framework && (r.Image == trainer.Image || r.GPUImage == trainer.Image) {
			return r.Name
		}
	}
	return trainer.Image
}

// program finds the script that a trainer starts: the last word of the command of a job that was made in this
// dialect; of others the first word that is the name of a Python script, else the command's first. What
// stands behind it are its arguments.
func program(trainer *corev1.Container, made bool) (bootfile string, args []string) {
	if n := len(trainer.Command); made && n > 0 {
		return trainer.Command[n-1], append([]string{}, trainer.Args...)
	}
	words := slices.Concat(trainer.Command, trainer.Args)
	if len(words) == 0 {
		return "", []string{}
	}
	script := max(slices.IndexFunc(words, func(word string) bool { return path.Ext(word) == ".py" }), 0)
	return words[script], append([]string{}, words[script+1:]...)
}

// environment tells the variables with fixed values. Those from Secrets, ConfigMaps and fields have none.
func environment(trainer *corev1.Container, described *Spec) {
	for _, e := range trainer.Env {
		switch {
		case e.ValueFrom != nil:
		case e.Name == EnvEventDir:
			described.EventDir = e.Value
		case e.Name == EnvModelDir:
			described.ModelDir = e.Value
		case e.Name == EnvLogDir:
			described.LogDir = e.Value
		default:
			if described.Environment == nil {
				described.Environment = Environment{}
			}
			described.Environment[e.Name] = e.Value
		}
	}
}

// checkpointDir is where the checkpoints of a job on a volume are mounted, or the path in its document.
func checkpointDir(job *v1alpha1.TrainingJob) string {
	c := spec.Checkpoints(job)
	if c == nil || !spec.OnVolume(c) {
		return ""
	}
	at := spec.MountPath(c)
	if at == spec.DefaultCheckpointPath {
		return cmp.Or(job.Annotations[AnnotationCheckpointDir], at)
	}
	return at
}

// resourceOf is what a trainer is limited to, else what it requests.
func resourceOf(trainer *corev1.Container) Resource {
	limit := func(name corev1.ResourceName) (corev1.ResourceList, bool) {
		for _, list := range []corev1.ResourceList{trainer.Resources.Limits, trainer.Resources.Requests} {
			if _, has := list[name]; has {
				return list, true
			}
		}
		return nil, false
	}
	var r Resource
	if list, has := limit(corev1.ResourceCPU); has {
		r.CPU = new(list[corev1.ResourceCPU])
	}
	if list, has := limit(corev1.ResourceMemory); has {
		r.Memory = new(list[corev1.ResourceMemory])
	}
	gpus := framework.DefaultGPUs()
	r.GPU = cmp.Or(gpus.Sum(trainer.Resources.Limits), gpus.Sum(trainer.Resources.Requests))
	return r
}

func ranks(workers []v1alpha1.WorkerStatus) []ReplicaStatus {
	all := make([]ReplicaStatus, 0, len(workers))
	for _, w := range workers {
		rank := ReplicaStatus{ID: w.PodName, RestartCount: w.RestartCount, Status: w.Phase}
		if w.StartTime != nil {
			rank.StartTime = new(w.StartTime.UTC())
		}
		all = append(all, rank)
	}
	return all
}

package convert

import (
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// jobSetSpec is JobSetSpec (api/jobset/v1alpha2/jobset_types.go, JobSet v0.12.0), with the tags by which
// Kubeflow Trainer merges patches.
type jobSetSpec struct {
	ReplicatedJobs []replicatedJob `json:"replicatedJobs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Network        *jobSetNetwork  `json:"network,omitempty"`
	SuccessPolicy  *jobSetSuccess  `json:"successPolicy,omitempty"`
	FailurePolicy  *jobSetFailure  `json:"failurePolicy,omitempty"`
	StartupPolicy  *struct {
		StartupPolicyOrder string `json:"startupPolicyOrder"`
	} `json:"startupPolicy,omitempty"`
	Suspend                 *bool                `json:"suspend,omitempty"`
	Coordinator             *jobSetCoordinator   `json:"coordinator,omitempty"`
	ManagedBy               *string              `json:"managedBy,omitempty"`
	TTLSecondsAfterFinished *int32               `json:"ttlSecondsAfterFinished,omitempty"`
	VolumeClaimPolicies     []jobSetClaimsPolicy `json:"volumeClaimPolicies,omitempty"`
}

type replicatedJob struct {
	Name      string                  `json:"name"`
	GroupName string                  `json:"groupName,omitempty"`
	Template  batchv1.JobTemplateSpec `json:"template"`
	Replicas  *int32                  `json:"replicas,omitempty"`
	DependsOn []dependsOn             `json:"dependsOn,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

type dependsOn struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

type jobSetNetwork struct {
	EnableDNSHostnames       *bool  `json:"enableDNSHostnames,omitempty"`
	Subdomain                string `json:"subdomain,omitempty"`
	PublishNotReadyAddresses *bool  `json:"publishNotReadyAddresses,omitempty"`
}

type jobSetSuccess struct {
	Operator             string   `json:"operator"`
	TargetReplicatedJobs []string `json:"targetReplicatedJobs,omitempty"`
}

type jobSetFailure struct {
	MaxRestarts     int32               `json:"maxRestarts,omitempty"`
	RestartStrategy string              `json:"restartStrategy,omitempty"`
	Rules           []jobSetFailureRule `json:"rules,omitempty"`
}

type jobSetFailureRule struct {
	Name                        string   `json:"name"`
	Action                      string   `json:"action"`
	OnJobFailureReasons         []string `json:"onJobFailureReasons,omitempty"`
	OnJobFailureMessagePatterns []string `json:"onJobFailureMessagePatterns,omitempty"`
	TargetReplicatedJobs        []string `json:"targetReplicatedJobs,omitempty"`
}

type jobSetCoordinator struct {
	ReplicatedJob string `json:"replicatedJob"`
	JobIndex      int32  `json:"jobIndex,omitempty"`
	PodIndex      int32  `json:"podIndex,omitempty"`
}

type jobSetClaimsPolicy struct {
	Templates       []corev1.PersistentVolumeClaim `json:"templates,omitempty"`
	RetentionPolicy *struct {
		WhenDeleted *string `json:"whenDeleted,omitempty"`
	} `json:"retentionPolicy,omitempty"`
}

const (
	// exclusiveTopology is an annotation of a JobSet or a replicated job.
	exclusiveTopology = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	dependsOnComplete = "Complete"
)

// jobSet is the conversion of a JobSet, or of a Job or a TrainJob as one.
type jobSet struct {
	*conversion
	job  *v1alpha1.TrainingJob
	from *jobSetSpec
	// path of from, of its suspend, and of the Job's spec of a replicated job.
	path, suspend *field.Path
	pathOf        func(i int) *field.Path
	// isJob: from is a batch/v1 Job, whose pods have other names.
	isJob bool
	// trainer is the name of the container that trains; empty: the first.
	trainer string
	// roles of replicated jobs that do not follow from their names.
	roles map[string]v1alpha1.Role
	// sets are the pods of the gang, and before those that end before it starts.
	sets, before []podSet
}

// podSet is the pods of one replicated job: in each of its Jobs the same number.
type podSet struct {
	replicatedJob
	role       v1alpha1.Role
	jobs, pods int32
	indexed    bool
	path       *field.Path // of the Job's spec
}

func (p podSet) ranks() int32 { return p.jobs * p.pods }

// jobSetJob converts jobset.x-k8s.io/v1alpha2 JobSet. Defaults: pkg/webhooks/jobset_webhook.go.
func jobSetJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[jobSetSpec](c, doc)
	if from == nil {
		return nil
	}
	path := field.NewPath("spec")
	return newJobSet(c, job, from, path).convert()
}

func newJobSet(c *conversion, job *v1alpha1.TrainingJob, from *jobSetSpec, path *field.Path) *jobSet {
	return &jobSet{
		conversion: c, job: job, from: from, path: path, suspend: field.NewPath("spec", "suspend"),
		pathOf: func(i int) *field.Path {
			return path.Child("replicatedJobs").Index(i).Child("template", "spec")
		},
	}
}

// convert returns the job, nil if it has no ranks.
func (s *jobSet) convert() *v1alpha1.TrainingJob {
	if !s.split() {
		return nil
	}
	s.frameworkOfCommands()
	if !s.assignRoles() {
		return nil
	}
	s.exclusive()
	s.initialize()
	s.claims()
	s.templates()
	s.policies()
	return s.job
}

// split makes pod sets of the replicated jobs. It reports whether every set can be a part of a gang.
func (s *jobSet) split() bool {
	first := map[string]bool{}
	for _, rj := range s.from.ReplicatedJobs {
		for _, on := range rj.DependsOn {
			first[on.Name] = first[on.Name] || on.Status == dependsOnComplete
		}
	}
	ok := true
	for i, rj := range s.from.ReplicatedJobs {
		set, fits := s.podSet(rj, i)
		ok = ok && fits
		switch {
		case !fits:
		case set.ranks() == 0:
			s.warn(set.path, "a Job without pods has no counterpart and is left out")
		case first[rj.Name]:
			s.before = append(s.before, set)
		default:
			s.sets = append(s.sets, set)
		}
	}
	if ok && len(s.sets) == 0 {
		s.fail(s.path.Child("replicatedJobs"), "no replicated job has pods that train: add one")
		return false
	}
	return ok
}

// podSet counts the pods of a replicated job. Its pods must run at the same time, and have an index each.
func (s *jobSet) podSet(rj replicatedJob, i int) (podSet, bool) {
	set := podSet{replicatedJob: rj, jobs: 1, pods: 1, path: s.pathOf(i), indexed: !s.isJob}
	job := rj.Template.Spec
	if mode := job.CompletionMode; mode != nil {
		set.indexed = *mode == batchv1.IndexedCompletion
		if !set.indexed && *mode != batchv1.NonIndexedCompletion {
			s.fail(set.path.Child("completionMode"), "%q is unknown: use Indexed", *mode)
			return set, false
		}
	}
	if rj.Replicas != nil {
		set.jobs = *rj.Replicas
	}
	if job.Parallelism != nil {
		set.pods = *job.Parallelism
	}
	switch n := job.Completions; {
	case set.jobs < 0 || set.pods < 0 || int64(set.jobs)*int64(set.pods) > math.MaxInt32:
		s.fail(set.path.Child("parallelism"), "replicas %d times parallelism %d is no number of pods",
			set.jobs, set.pods)
	case n != nil && *n != set.pods:
		s.fail(set.path.Child("completions"), "%d pods run one after another, %d at a time, but the ranks of a "+
			"gang run together: give completions and parallelism the same number", *n, set.pods)
	case set.pods > 1 && !set.indexed:
		s.fail(set.path.Child("completionMode"), "the Job is NonIndexed, so its pods have no ranks: set "+
			"completionMode: Indexed if they train together, else leave the Job to Kubernetes and remove it from "+
			"the input")
	default:
		s.replicatedJobFields(rj, s.path.Child("replicatedJobs").Index(i))
		return set, true
	}
	return set, false
}

// replicatedJobFields warns of what belongs to the Jobs, of which there are none here.
func (s *jobSet) replicatedJobFields(rj replicatedJob, path *field.Path) {
	if rj.GroupName != "" && rj.GroupName != "default" {
		s.warn(path.Child("groupName"), noCounterpart)
	}
	for _, m := range []struct {
		name  string
		pairs map[string]string
	}{{"labels", rj.Template.Labels}, {"annotations", rj.Template.Annotations}} {
		for _, key := range sortedKeys(m.pairs) {
			if !isJobMetadata(key) && key != ancestorLabel && key != exclusiveTopology {
				s.warn(path.Child("template", "metadata", m.name).Key(key), noCounterpart+": the gang has no Jobs")
			}
		}
	}
}

// leaderNames are the usual names of replicated jobs that lead, in addition to volcanoRoles.
var leaderNames = []string{"leader", "driver", "coordinator"}

// assignRoles makes a role of every set. It reports whether all of them have one.
func (s *jobSet) assignRoles() bool {
	s.job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for i := range s.sets {
		set := &s.sets[i]
		set.role = s.roleOf(*set)
		if _, twice := s.job.Spec.ReplicaSpecs[set.role]; twice {
			s.fail(set.path, "%s would be a second role %s: rename the replicated job to master, chief, launcher, "+
				"scheduler, server, ps, worker or evaluator", set.Name, set.role)
			return false
		}
		s.job.Spec.ReplicaSpecs[set.role] = v1alpha1.ReplicaSpec{}
	}
	if at := s.from.Coordinator; at != nil && (at.JobIndex != 0 || at.PodIndex != 0) {
		s.warn(s.path.Child("coordinator"), "the index "+noCounterpart+": rank 0 leads")
	}
	return true
}

// roleOf is the role of a set, by its name. The coordinator leads if it is alone in its set.
func (s *jobSet) roleOf(set podSet) v1alpha1.Role {
	if role, known := s.roles[set.Name]; known {
		return role
	}
	name := strings.ToLower(set.Name)
	role, known := volcanoRoles[name]
	leads := s.from.Coordinator != nil && s.from.Coordinator.ReplicatedJob == set.Name && len(s.sets) > 1
	switch {
	case !known && set.ranks() == 1 && (leads || slices.Contains(leaderNames, name)):
		role = v1alpha1.RoleMaster
	case !known:
		return v1alpha1.RoleWorker
	}
	if role == v1alpha1.RoleMaster && s.job.Spec.Framework == v1alpha1.FrameworkMPI {
		return v1alpha1.RoleLauncher
	}
	return role
}

// templates writes the roles.
func (s *jobSet) templates() {
	f, _ := framework.Get(string(s.job.Spec.Framework))
	isMPI := s.job.Spec.Framework == v1alpha1.FrameworkMPI
	for i := range s.sets {
		set := &s.sets[i]
		template, at := &set.Template.Spec.Template, set.path.Child("template")
		main := mainContainer(&template.Spec, s.trainer)
		switch containers := at.Child("spec", "containers"); {
		case !isMPI || main == nil:
		case set.role == v1alpha1.RoleWorker:
			s.withoutSSHD(main, containers)
		case set.role == v1alpha1.RoleLauncher:
			s.launcherCommand(main, mpi(s.job).Implementation, containers.Index(indexOf(&template.Spec, main)))
		}
		if main != nil && main.Image == "" {
			main.Image = s.options.Image
		}
		s.podMetadata(*set, template, at)
		subdomain := template.Spec.Subdomain
		s.template(s.job, template, at)
		s.hostNames(*set, template, subdomain, at)
		s.markTrainer(&template.Spec, main, f.ContainerNames, at.Child("spec"))
		if !isMPI {
			s.completionIndex(*set, main)
		}
		s.job.Spec.ReplicaSpecs[set.role] = v1alpha1.ReplicaSpec{
			Replicas: new(set.ranks()), RestartPolicy: v1alpha1.RestartOnFailure, Template: *template,
		}
	}
	if isMPI {
		mpi(s.job)
	}
}

// frameworkOfCommands is the framework of --framework, else the one whose launcher a command names. A JobSet
// has no field for it.
func (s *jobSet) frameworkOfCommands() {
	to := &s.job.Spec.Framework
	if *to != "" {
		return
	}
	if *to = s.options.Framework; *to != "" {
		return
	}
	for _, set := range s.sets {
		pod := set.Template.Spec.Template.Spec
		main := mainContainer(&pod, s.trainer)
		if main == nil {
			continue
		}
		words := commandWords(main)
		has := func(names ...string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(names, word) })
		}
		isMaster := func(e corev1.EnvVar) bool { return e.Name == "MASTER_ADDR" }
		switch {
		case has("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed"),
			slices.ContainsFunc(main.Env, isMaster):
			*to = v1alpha1.FrameworkPyTorch
			return
		case has("mpirun", "mpiexec", "horovodrun") && len(s.sets) > 1 && set.ranks() == 1:
			*to = v1alpha1.FrameworkMPI
			s.roles = map[string]v1alpha1.Role{set.Name: v1alpha1.RoleLauncher}
			s.warn(set.path, "%s is the Launcher of framework mpi, whose mpirun gets the Workers and their keys from "+
				"the operator: remove hostfiles and keys of your own", set.Name)
			return
		}
	}
	*to = v1alpha1.FrameworkCustom
	s.warn(nil, "no field and no command names the framework: custom is written, which sets RANK, WORLD_SIZE "+
		"and TRAININGJOB_LEADER_HOST; --framework chooses another")
}

// commandWords are the words of a command, without the folders of programs.
func commandWords(c *corev1.Container) []string {
	text := strings.Join(slices.Concat(c.Command, c.Args), " ")
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"`", r) })
	for i, word := range words {
		words[i] = word[strings.LastIndexByte(word, '/')+1:]
	}
	return words
}

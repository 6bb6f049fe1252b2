package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// rehearsalOptions are the choices of a user for a rehearsal. The zero value is the default.
type rehearsalOptions struct {
	// ranks in all; 0: the job's own number.
	ranks   int32
	exact   bool
	ways    []v1alpha1.RehearsalWay // none: the operator's default
	timeout time.Duration           // in whole seconds; 0: the operator's default
}

const (
	rehearsalSuffix = "-rehearsal"
	// rehearsalInterval is the most seconds between two checkpoints of a rehearsal, which trains briefly.
	rehearsalInterval = 30
	maxHostName       = 63 // characters, of the name of a pod
	hashLength        = 8  // characters, in a name that was cut
)

// Rehearsal returns the job that rehearses another one: the same program and pods in the same queue, with
// frequent checkpoints in a place of its own. It fails for a job that cannot be rehearsed, with a remedy.
func Rehearsal(of *v1alpha1.TrainingJob, o rehearsalOptions) (*v1alpha1.TrainingJob, error) {
	if err := canRehearse(of); err != nil {
		return nil, err
	}
	job := &v1alpha1.TrainingJob{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainingJob"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.Namespace, Labels: kept(of.Labels), Annotations: kept(of.Annotations),
		},
		Spec: *of.Spec.DeepCopy(),
	}
	job.Labels[v1alpha1.LabelRehearsalOf] = of.Name
	job.Annotations[v1alpha1.AnnotationRehearsalRevision] = spec.Revision(of)
	if o.ranks != 0 {
		if err := setRanks(job, o.ranks); err != nil {
			return nil, err
		}
	}
	rehearsePolicy(&job.Spec.RunPolicy)
	rehearseCheckpoints(job.Spec.Checkpoint)
	job.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{Ways: o.ways, Exact: o.exact}
	if o.timeout != 0 {
		job.Spec.Rehearsal.TimeoutSeconds = new(int32(o.timeout / time.Second))
	}
	job.Name = rehearsalName(of.Name, job)
	return job, nil
}

// canRehearse returns what to change in a job that cannot be rehearsed.
func canRehearse(job *v1alpha1.TrainingJob) error {
	switch {
	case job.Name == "":
		return fmt.Errorf("metadata.name is missing: a rehearsal is named after its job")
	case job.Spec.Rehearsal != nil:
		return fmt.Errorf("%s is a rehearsal itself (spec.rehearsal): name the job that it is a copy of", job.Name)
	case spec.Checkpoints(job) == nil:
		return fmt.Errorf("%s takes no checkpoints: set spec.checkpoint, and have the trainer save and resume",
			job.Name)
	case spec.Scope(job) == v1alpha1.ScopeRank:
		return fmt.Errorf("%s restarts single ranks (spec.runPolicy.restartScope Rank, the default of elastic "+
			"jobs and of restartPolicy Always): only jobs with restartScope Gang can be rehearsed", job.Name)
	case spec.ManagedElsewhere(job) && job.Spec.ManagedBy != v1alpha1.ManagedByMultiKueue:
		return fmt.Errorf("controller %s runs %s (spec.managedBy), and it plays no rehearsals", job.Spec.ManagedBy,
			job.Name)
	}
	return nil
}

// rehearsePolicy removes what would end, hide or disturb a rehearsal.
func rehearsePolicy(p *v1alpha1.RunPolicy) {
	p.Suspend, p.TTLSecondsAfterFinished, p.ActiveDeadlineSeconds = nil, nil, nil
	p.ExpectedSeconds = nil
	p.SchedulingPolicy.ScheduleTimeoutSeconds = nil
	p.SchedulingPolicy.Backfill = "" // a recall would interrupt the attempt
	if p.Liveness != nil && p.Liveness.Mode == v1alpha1.LivenessAct {
		p.Liveness.Mode = v1alpha1.LivenessWarn // a restart would interrupt the attempt
	}
}

// rehearseCheckpoints makes checkpoints frequent, and begins without one. The operator gives each job its own
// directory in a claim that the user names, and in an object store. A claim that it creates for a rehearsal
// is deleted with it.
func rehearseCheckpoints(c *v1alpha1.CheckpointSpec) {
	c.Interval = new(min(rehearsalInterval, spec.OrDefault(c.Interval, spec.DefaultCheckpointInterval)))
	c.ResumeFrom = ""
	if spec.OnVolume(c) && c.PVC.ClaimName == "" {
		c.PVC.Retain = v1alpha1.DeleteClaim
	}
}

// setRanks changes the number of Workers so that the job has n ranks in all.
func setRanks(job *v1alpha1.TrainingJob, n int32) error {
	ranks := spec.Ranks(job)
	if n < 1 || n > ranks {
		return fmt.Errorf("--ranks %d: give 1 to %d, the ranks of the job", n, ranks)
	}
	policy := &job.Spec.RunPolicy.SchedulingPolicy
	if policy.MinAvailable != nil {
		policy.MinAvailable = new(min(*policy.MinAvailable, n))
	}
	if n < ranks {
		policy.MinResources = nil // of all ranks; the operator computes it
	}
	if len(job.Spec.ReplicaSpecs) == 0 {
		job.Spec.Replicas = &n
		return nil
	}
	workers := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	others := ranks
	if _, has := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]; has {
		others -= spec.Replicas(workers.Replicas)
	}
	switch left := n - others; {
	case left < 0:
		return fmt.Errorf("--ranks %d: %d ranks are no Workers, give at least as many", n, others)
	case left == 0:
		delete(job.Spec.ReplicaSpecs, v1alpha1.RoleWorker)
	default:
		workers.Replicas = &left
		if workers.MinAvailable != nil {
			workers.MinAvailable = new(min(*workers.MinAvailable, left))
		}
		job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = workers
	}
	return nil
}

// rehearsalName returns the name of a rehearsal. A long name of the job is cut and gets a hash, so that the
// names of all pods are valid.
func rehearsalName(of string, job *v1alpha1.TrainingJob) string {
	longest := 0
	for _, role := range spec.Roles(job) {
		last := spec.RankRef{Role: role.Name, Index: max(0, role.Replicas-1)}
		longest = max(longest, len(spec.PodName("", last)))
	}
	limit := maxHostName - longest - len(rehearsalSuffix)
	if len(of) <= limit {
		return of + rehearsalSuffix
	}
	sum := sha256.Sum256([]byte(of))
	cut := strings.TrimRight(of[:max(1, limit-hashLength-1)], "-")
	return cut + "-" + hex.EncodeToString(sum[:hashLength/2]) + rehearsalSuffix
}

// keptKeys are labels and annotations of a job that its rehearsal needs, although their prefix is in ownKeys.
var keptKeys = []string{
	v1alpha1.LabelKueueQueue, v1alpha1.LabelKueuePriority, v1alpha1.AnnotationUser,
	v1alpha1.AnnotationMLflowExperiment,
}

// ownKeys are prefixes of labels and annotations that belong to one object: orders to the operator and to
// Kueue, and the marks of tools, which would otherwise delete the copy or take it for theirs.
var ownKeys = []string{
	"mlplatform.example.com/", "kueue.x-k8s.io/", "kubectl.kubernetes.io/", "argocd.argoproj.io/",
	"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "meta.helm.sh/", "helm.sh/",
	"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "config.k8s.io/",
}

// kept returns the labels or annotations that a rehearsal has in common with its job.
func kept(all map[string]string) map[string]string {
	out := maps.Clone(all)
	if out == nil {
		out = map[string]string{}
	}
	maps.DeleteFunc(out, func(key, _ string) bool {
		own := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		return slices.ContainsFunc(ownKeys, own) && !slices.Contains(keptKeys, key)
	})
	return out
}

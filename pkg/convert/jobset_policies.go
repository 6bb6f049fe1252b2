package convert

import (
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Controllers of spec.managedBy that need no warning.
var jobControllers = []string{
	"", "jobset.sigs.k8s.io/jobset-controller", batchv1.JobControllerName,
	"trainer.kubeflow.org/trainjob-controller",
}

// policies writes limits, restarts and success.
func (s *jobSet) policies() {
	policy := &s.job.Spec.RunPolicy
	policy.CleanPodPolicy = v1alpha1.CleanPodRunning // a Job that ends deletes the pods that still run
	policy.TTLSecondsAfterFinished = s.from.TTLSecondsAfterFinished
	s.kueue()
	s.managedBy(s.from.ManagedBy, s.path.Child("managedBy"))
	s.restartLimit()
	s.failureRules()
	s.success()
	s.startup()
	s.network()
	for _, set := range s.sets {
		s.jobPolicies(set)
	}
}

// kueue chooses scheduler kueue for a job with the label of a queue. Kueue suspends such jobs itself, in the
// object of the API server too (pkg/controller/jobframework/reconciler.go, Kueue v0.19.2).
func (s *jobSet) kueue() {
	policy := &s.job.Spec.RunPolicy
	if policy.Suspend == nil { // of initializers
		policy.Suspend = s.from.Suspend
	}
	if s.job.Labels[v1alpha1.LabelKueueQueue] == "" {
		return
	}
	if policy.SchedulingPolicy.Scheduler == "" {
		policy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerKueue
	}
	if own := s.from.Suspend; own != nil && *own && !s.options.KeepSuspend {
		s.warn(s.suspend, "is left out, because Kueue suspends jobs with a queue itself: "+
			"--keep-suspend keeps it")
		if len(s.before) == 0 {
			policy.Suspend = nil
		}
	}
}

func (s *jobSet) managedBy(by *string, path *field.Path) {
	switch {
	case by == nil || slices.Contains(jobControllers, *by):
	case *by == v1alpha1.ManagedByMultiKueue:
		s.job.Spec.ManagedBy = *by
	default:
		s.warn(path, "%q is a controller of the other system: this operator runs the job", *by)
	}
}

// restartLimit adds the restarts of the JobSet to those of its Jobs. Each counts here as one of the gang.
func (s *jobSet) restartLimit() {
	var own, restarts int32
	path := s.sets[0].path.Child("backoffLimit")
	for _, set := range s.sets {
		limit := int32(launcherBackoffLimit)
		if given := set.Template.Spec.BackoffLimit; given != nil {
			limit = *given
		}
		if limit > own {
			own, path = limit, set.path.Child("backoffLimit")
		}
	}
	if f := s.from.FailurePolicy; f != nil {
		restarts = max(0, f.MaxRestarts)
		if f.RestartStrategy == "InPlaceRestart" {
			own = 0 // the API has the largest number there
			s.warn(s.path.Child("failurePolicy", "restartStrategy"), "InPlaceRestart "+noCounterpart+": the gang "+
				"restarts in new pods")
		}
	}
	limit := int32(min(int64(own)+int64(restarts), math.MaxInt32))
	s.job.Spec.RunPolicy.BackoffLimit = &limit
	switch {
	case own > 0 && restarts > 0:
		s.warn(path, "there %d failures restart one pod, and maxRestarts %d all of them: here each failure "+
			"restarts the gang, at most %d times", own, restarts, limit)
	case own > 0:
		s.warn(path, "there a failure restarts one pod, here the gang, at most %d times", limit)
	}
}

// onlyDisruptions reports whether all rules of a pod failure policy are about disruptions, which never count
// against backoffLimit here.
func onlyDisruptions(policy *batchv1.PodFailurePolicy) bool {
	if policy == nil {
		return false
	}
	return !slices.ContainsFunc(policy.Rules, func(rule batchv1.PodFailurePolicyRule) bool {
		return rule.OnExitCodes != nil || slices.ContainsFunc(rule.OnPodConditions,
			func(c batchv1.PodFailurePolicyOnPodConditionsPattern) bool { return c.Type != corev1.DisruptionTarget })
	})
}

// failureRules warns of rules other than a restart after disruptions.
func (s *jobSet) failureRules() {
	if s.from.FailurePolicy == nil {
		return
	}
	for i, rule := range s.from.FailurePolicy.Rules {
		targets := func(set podSet) bool {
			return len(rule.TargetReplicatedJobs) == 0 || slices.Contains(rule.TargetReplicatedJobs, set.Name)
		}
		other := slices.ContainsFunc(s.sets, func(set podSet) bool {
			return targets(set) && !onlyDisruptions(set.Template.Spec.PodFailurePolicy)
		})
		if rule.Action == "RestartJobSetAndIgnoreMaxRestarts" && !other &&
			slices.Equal(rule.OnJobFailureReasons, []string{batchv1.JobReasonPodFailurePolicy}) {
			continue
		}
		s.warn(s.path.Child("failurePolicy", "rules").Index(i), "the action %s "+noCounterpart+": a failure "+
			"restarts the gang while backoffLimit lasts", rule.Action)
	}
}

// success writes which ranks decide: there all Jobs by default, here the leader if there is one.
func (s *jobSet) success() {
	operator, targets := "All", []string(nil)
	if p := s.from.SuccessPolicy; p != nil {
		operator, targets = p.Operator, p.TargetReplicatedJobs
	}
	var leader, workers, others []string
	isTarget := func(name string) bool { return len(targets) == 0 || slices.Contains(targets, name) }
	single := true
	for _, set := range s.sets {
		if !isTarget(set.Name) {
			continue
		}
		single = single && set.jobs == 1
		switch {
		case spec.Leads(set.role):
			leader = append(leader, set.Name)
		case set.role == v1alpha1.RoleWorker:
			workers = append(workers, set.Name)
		default:
			others = append(others, set.Name)
		}
	}
	_, leads := s.leaderSet()
	targeted := len(leader) + len(workers) + len(others)
	path := s.path.Child("successPolicy")
	switch {
	case operator == "Any" && (targeted > 1 || !single):
		s.warn(path, "the first Job that ends decides there: here the leader, else every Worker")
	case len(others) > 0:
		s.warn(path, "%v must succeed there: here only the leader or the Workers decide", others)
	case s.job.Spec.Framework == v1alpha1.FrameworkMPI: // Workers serve until the Launcher ends
	case leads && len(leader) > 0 && len(workers) > 0:
		s.job.Spec.SuccessPolicy = v1alpha1.SuccessAllWorkers
	case leads && len(leader) == 0:
		s.job.Spec.SuccessPolicy = v1alpha1.SuccessAllWorkers
		s.warn(path, "the leader must succeed here too, not only %v", workers)
	}
}

// leaderSet is the set of the leader; false if there is none.
func (s *jobSet) leaderSet() (podSet, bool) {
	i := slices.IndexFunc(s.sets, func(set podSet) bool { return spec.Leads(set.role) })
	if i < 0 {
		return podSet{}, false
	}
	return s.sets[i], true
}

// startup warns of an order in which Jobs start. A launcher waits for its Workers here too.
func (s *jobSet) startup() {
	if p := s.from.StartupPolicy; p != nil && p.StartupPolicyOrder == "InOrder" {
		s.warn(s.path.Child("startupPolicy"), noCounterpart+": all ranks start together")
	}
	for i, rj := range s.from.ReplicatedJobs {
		for j, on := range rj.DependsOn {
			set := slices.IndexFunc(s.sets, func(set podSet) bool { return set.Name == rj.Name })
			if on.Status == dependsOnComplete || set < 0 || s.sets[set].role == v1alpha1.RoleLauncher {
				continue
			}
			s.warn(s.path.Child("replicatedJobs").Index(i).Child("dependsOn").Index(j),
				noCounterpart+": all ranks start together")
		}
	}
}

func (s *jobSet) network() {
	n, path := s.from.Network, s.path.Child("network")
	if n == nil {
		return
	}
	if n.Subdomain != "" && n.Subdomain != s.job.Name {
		s.warn(path.Child("subdomain"), noCounterpart+": ranks have host names such as %s",
			spec.RankHost(s.job.Name, spec.RankRef{Role: s.sets[0].role}))
	}
	if publish := n.PublishNotReadyAddresses; publish != nil && !*publish {
		s.warn(path.Child("publishNotReadyAddresses"), "false "+noCounterpart+": a rank has its host name from "+
			"the start")
	}
	if dns := n.EnableDNSHostnames; dns != nil && !*dns {
		s.warn(path.Child("enableDNSHostnames"), "false "+noCounterpart+": every rank has a host name")
	}
}

// jobPolicies are those of one Job of the set.
func (s *jobSet) jobPolicies(set podSet) {
	job, path := set.Template.Spec, set.path
	if n := job.ActiveDeadlineSeconds; n != nil {
		to := &s.job.Spec.RunPolicy.ActiveDeadlineSeconds
		if *to != nil && **to != *n {
			s.warn(path.Child("activeDeadlineSeconds"), "the Jobs have different deadlines: the gang has the "+
				"shortest")
		}
		if *to == nil || *n < **to {
			*to = n
		}
	}
	if p := job.PodFailurePolicy; p != nil && !onlyDisruptions(p) {
		s.warn(path.Child("podFailurePolicy"), "its rules have no counterpart and are left out, but for those of "+
			"disruptions, which never count here")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"successPolicy", job.SuccessPolicy != nil},
		{"backoffLimitPerIndex", job.BackoffLimitPerIndex != nil},
		{"maxFailedIndexes", job.MaxFailedIndexes != nil},
	} {
		if f.given {
			s.warn(path.Child(f.name), noCounterpart+": a failure restarts the gang")
		}
	}
	if !s.isJob && job.TTLSecondsAfterFinished != nil {
		s.warn(path.Child("ttlSecondsAfterFinished"), noCounterpart+": the job has one")
	}
	if job.ManualSelector != nil && *job.ManualSelector {
		s.warn(path.Child("manualSelector"), noCounterpart+": the operator selects its pods")
	}
}

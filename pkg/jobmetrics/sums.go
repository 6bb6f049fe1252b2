package jobmetrics

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// phases of a job.
var phases = []v1alpha1.Phase{
	v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning,
	v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded,
	v1alpha1.PhaseFailed,
}

// sums over all jobs. A namespace with jobs has a number for every phase, so that queries return 0 and not an
// empty result.
func sums(jobs []*v1alpha1.TrainingJob) []series {
	type key struct{ name, namespace, value string }
	counts := map[key]int{}
	for _, job := range jobs {
		for _, phase := range phases {
			counts[key{nameJobs, job.Namespace, string(phase)}] += 0
		}
		counts[key{nameJobs, job.Namespace, string(phaseOf(job))}]++
		if reason := blockedBy(job); reason != "" {
			counts[key{nameBlockedJobs, job.Namespace, reason}]++
		}
		s := job.Status.Scheduling
		if s == nil {
			continue
		}
		if r := s.Reservation; r != nil && job.Status.Phase == v1alpha1.PhaseQueued {
			counts[key{nameReservations, job.Namespace, string(r.Phase)}]++
		}
		if b := s.Backfill; b != nil && b.How != "" && spec.HoldsNodes(job) {
			counts[key{nameBackfilled, job.Namespace, string(b.How)}]++
		}
	}
	list := make([]series, 0, len(counts))
	for k, n := range counts { // in any order: a registry sorts what it gathers
		list = append(list, series{k.name, float64(n), []string{k.namespace, k.value}})
	}
	return list
}

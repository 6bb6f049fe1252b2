package explain

import (
	"fmt"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Liveness is whether the ranks of a running gang make progress.
type Liveness struct {
	State v1alpha1.LivenessState `json:"state"`
	// Since when the state holds; nil if the status does not have it.
	Since *time.Time `json:"since,omitempty"`
	// Summary of the state in one sentence.
	Summary string `json:"summary"`
	// Step is the highest that a rank has finished; nil if no rank has named one.
	Step *int64 `json:"step,omitempty"`
	// LastProgress of any rank, as of the operator's last write; nil if unknown.
	LastProgress *time.Time `json:"lastProgress,omitempty"`
	// LimitSeconds without progress; 0 if unknown.
	LimitSeconds int64 `json:"limitSeconds,omitempty"`
	// ReportingRanks is how many of the WatchedRanks report.
	ReportingRanks int32 `json:"reportingRanks"`
	WatchedRanks   int32 `json:"watchedRanks"`
	// Suspects are the ranks that the others wait for; the status lists at most 8.
	Suspects []Suspect `json:"suspects,omitempty"`
	// Restarts for hangs in the life of the job.
	Restarts int32 `json:"restarts,omitempty"`
}

// Suspect is a rank that the others wait for.
type Suspect struct {
	Pod  string `json:"pod"`
	Node string `json:"node,omitempty"`
	// Step that the rank has finished; nil if unknown.
	Step     *int64                   `json:"step,omitempty"`
	Evidence v1alpha1.SuspectEvidence `json:"evidence"`
	// Meaning of the evidence; empty for one of a later version.
	Meaning string `json:"meaning,omitempty"`
}

// evidence against a rank has a meaning each.
var evidence = map[v1alpha1.SuspectEvidence]string{
	v1alpha1.EvidenceSilent:       "it no longer reports, and the others do",
	v1alpha1.EvidenceNodeNotReady: "its node is not ready",
	v1alpha1.EvidenceBehind:       "it has not finished the step that the others have",
	v1alpha1.EvidenceStopped:      "its processes are stopped (state T)",
	v1alpha1.EvidenceDiskWait:     "a process of it waits for a disk (state D)",
	v1alpha1.EvidenceWhere:        "it is at another place in the code than the others",
	v1alpha1.EvidenceLoad:         "its CPU load differs from that of the others",
	v1alpha1.EvidenceBusy:         "it computes for longer than the others",
}

// livenessOf returns nil if the status has no verdict about the current attempt.
func livenessOf(l *v1alpha1.LivenessStatus) *Liveness {
	if l == nil || l.State == "" {
		return nil
	}
	out := &Liveness{
		State: l.State, Since: timeOf(l.Since), Step: l.Step, LastProgress: lastProgress(l),
		LimitSeconds: l.LimitSeconds, ReportingRanks: l.ReportingRanks, WatchedRanks: l.WatchedRanks,
		Restarts: l.Restarts, Summary: livenessSummary(l),
	}
	for _, s := range l.Suspects {
		out.Suspects = append(out.Suspects, Suspect{
			Pod: s.Pod, Node: s.Node, Step: s.Step, Evidence: s.Evidence, Meaning: evidence[s.Evidence],
		})
	}
	return out
}

func livenessSummary(l *v1alpha1.LivenessStatus) string {
	reports := fmt.Sprintf("%d of %d ranks report", l.ReportingRanks, l.WatchedRanks)
	switch l.State {
	case v1alpha1.LivenessHung:
		if len(l.Suspects) > 0 {
			return "no rank makes progress: the others wait for those below"
		}
		return "no rank makes progress, and nothing tells which one the others wait for; " + reports
	case v1alpha1.LivenessSlow:
		return "ranks make progress, but a step takes much longer than usual for this job"
	case v1alpha1.LivenessProgressing:
		return "ranks make progress; " + reports
	}
	return "it is unknown whether ranks make progress: " + reports
}

// lastProgress returns when a rank last made progress, as of the operator's last write; nil if unknown.
func lastProgress(l *v1alpha1.LivenessStatus) *time.Time {
	if l.ObservedTime == nil || l.State == v1alpha1.LivenessUnknown {
		return nil
	}
	return new(l.ObservedTime.Add(-time.Duration(l.IdleSeconds) * time.Second).UTC())
}

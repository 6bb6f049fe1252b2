package observation

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Checkpoints is the state of the attempt's trainer and its checkpoints, from its reports, the termination
// messages of its pods and the search of its volume. Data that cannot be observed again is written to the
// status before the pods are deleted (see package account).
type Checkpoints struct {
	// Latest complete checkpoint that any of them named, not behind the status's. SaveSeconds is how long the
	// trainer took to write it; 0: unknown.
	Latest      *v1alpha1.CheckpointPoint
	SaveSeconds float64
	// Report of the current attempt; nil when there is none.
	Report *Reported
	// Step at which the trainer ended, from its termination message; nil if it has none, or if the trainer has
	// restarted in the same attempt and reports. FormerStep is the last known step of an earlier start.
	Step       *int64
	FormerStep int64
	// Ran: rank 0's trainer has started.
	Ran bool
	// Known: rank 0's termination message was read, and its agent saw the whole volume.
	Known bool
	// Completed: rank 0 reported that every step is trained, and exited 0.
	Completed bool
	// Resolved is the result of the search; nil without one. SearchFailed: the pod of the current try ended
	// without one.
	Resolved     *checkpoint.Termination
	SearchFailed bool
}

// checkpointsOf returns the Checkpoints of a job; empty for a job without checkpoints.
func checkpointsOf(s *Snapshot, ranks *Attempt, lost []Loss) Checkpoints {
	var c Checkpoints
	if spec.Checkpoints(s.Job) == nil || SettledForGood(s.Job) {
		return c
	}
	if st := s.Job.Status.Checkpoint; st != nil {
		c.Latest = st.Latest
	}
	// Reports of a former attempt no longer count: its resume point is settled.
	if r := s.Report; r != nil && r.Attempt == s.Job.Status.Attempt && r.Phase != checkpoint.PhaseResolved {
		c.Report, c.FormerStep = r, r.FormerStep
		c.consider(s.Job, r.Checkpoint, r.Received)
	}
	c.readRankZero(s, ranks, lost)
	c.readSearch(s)
	return c
}

// SettledForGood reports whether the job has finished after a drain, which settled everything.
func SettledForGood(job *v1alpha1.TrainingJob) bool {
	ts := job.Status.Transitions
	return job.Status.Phase.Finished() && len(ts) > 1 && ts[len(ts)-2].Phase == v1alpha1.PhaseDraining
}

// consider makes a checkpoint the latest if it is newer: by step, then by attempt, since a later attempt that
// reached the same step wrote files that still have a live writer.
func (c *Checkpoints) consider(job *v1alpha1.TrainingJob, save *checkpoint.Save, received time.Time) {
	if save == nil || save.State != checkpoint.SaveCommitted || !spec.OwnsCheckpoint(job, save.URI) {
		return
	}
	if l := c.Latest; l != nil && (save.Step < l.Step || save.Step == l.Step && save.URI == l.URI) {
		return
	}
	c.Latest, c.SaveSeconds = PointOf(save, received), save.DurationSeconds
}

// PointOf returns a save as the status shows it, with the time of its commit, or else of its receipt.
func PointOf(save *checkpoint.Save, received time.Time) *v1alpha1.CheckpointPoint {
	at := metav1.NewTime(received.Truncate(time.Second))
	if save.CommittedAt != nil {
		at = metav1.NewTime(save.CommittedAt.Truncate(time.Second))
	}
	point := &v1alpha1.CheckpointPoint{URI: save.URI, Step: save.Step}
	if !at.IsZero() {
		point.Time = &at
	}
	return point
}

// readRankZero reads rank 0's pod, as it is or as it last was. For checkpoints, rank 0 means the rank that
// reports (see spec.Reporter).
func (c *Checkpoints) readRankZero(s *Snapshot, ranks *Attempt, lost []Loss) {
	rank := ranks.Reporter()
	if rank == nil {
		return
	}
	// Under scope Rank this pod may have had a predecessor in the same attempt, which saved and was not
	// observed.
	ph := s.Job.Status.Phase
	successor := spec.Scope(s.Job) == v1alpha1.ScopeRank &&
		(ranks.Present() > 0 || ph == v1alpha1.PhaseStarting || ph == v1alpha1.PhaseRunning)
	pod := rank.LastPod()
	if pod == nil {
		c.Ran = successor || mayHaveRun(ph, lost)
		return
	}
	c.Ran = successor || started(pod)
	for _, t := range terminations(pod) {
		c.readTermination(s, t)
	}
}

// readTermination reads the termination message of rank 0's trainer, if it is one of the current attempt.
func (c *Checkpoints) readTermination(s *Snapshot, t termination) {
	attempt := s.Job.Status.Attempt
	message, err := checkpoint.ParseTermination([]byte(t.Message))
	if err != nil || message.Attempt != 0 && message.Attempt != attempt {
		return
	}
	c.consider(s.Job, message.Checkpoint, t.FinishedAt.Time)
	if restarted := c.Report != nil && c.Report.Start != ""; restarted && !t.final && message.Step != nil {
		c.FormerStep = max(c.FormerStep, *message.Step)
	} else {
		c.Step = message.Step
	}
	if !t.final {
		return
	}
	// A problem may mean that the agent did not see the whole volume.
	c.Known = message.Problem == "" || message.Reason == checkpoint.ExitStartFailed
	reported := s.Report != nil && s.Report.Attempt == attempt && s.Report.Phase == checkpoint.PhaseCompleted
	c.Completed = message.ExitCode == 0 && t.ExitCode == 0 &&
		(message.Phase == checkpoint.PhaseCompleted || reported)
}

// mayHaveRun reports whether a rank 0 without a known pod may have run: the gang ran, or pods vanished
// unseen.
func mayHaveRun(phase v1alpha1.Phase, lost []Loss) bool {
	switch phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
		return true
	case v1alpha1.PhaseQueued:
		for _, l := range lost {
			if l.Reason == v1alpha1.ReasonPodVanished {
				return true
			}
		}
	}
	return false
}

// readSearch reads the result of the pod that searches the volume.
func (c *Checkpoints) readSearch(s *Snapshot) {
	attempt := strconv.Itoa(int(s.Job.Status.Attempt))
	try := strconv.Itoa(int(render.ResolveTry(s.Job)))
	for _, pod := range s.Resolvers {
		if pod.Labels[v1alpha1.LabelAttempt] != attempt || !Ended(pod) {
			continue
		}
		if result := searchResult(s.Job, pod); result != nil {
			c.Resolved = result
		} else if pod.Labels[v1alpha1.LabelTry] == try {
			c.SearchFailed = true
		}
	}
}

func searchResult(job *v1alpha1.TrainingJob, pod *corev1.Pod) *checkpoint.Termination {
	for _, t := range terminations(pod) {
		message, err := checkpoint.ParseTermination([]byte(t.Message))
		if err != nil || message.Reason != checkpoint.ExitResolved || t.ExitCode != 0 {
			continue
		}
		save := message.Checkpoint
		if save == nil || save.State == checkpoint.SaveCommitted && spec.OwnsCheckpoint(job, save.URI) {
			return message
		}
	}
	return nil
}

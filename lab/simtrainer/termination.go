package simtrainer

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// checkpointView is what the agent of rank 0, or `agent resolve`, sees of the checkpoints.
type checkpointView struct {
	checkpoint *checkpoint.Save
	layout     checkpoint.Layout
	passedOver []checkpoint.Passed
}

// viewCheckpoints views the checkpoints that are allowed.
func viewCheckpoints(
	f *StateFile, at Location, allowed func(Checkpoint) bool, objectStore bool,
) checkpointView {
	newest, torn := f.Newest(at, allowed)
	var view checkpointView
	if newest != nil {
		committed := newest.Time.UTC().Truncate(time.Second)
		view.checkpoint = &checkpoint.Save{
			State: checkpoint.SaveCommitted, URI: at.uri(newest.Path), Step: newest.Step,
			CommittedAt: &committed, DurationSeconds: newest.Seconds,
		}
		view.layout = checkpoint.LayoutManifest
		if objectStore {
			view.layout = checkpoint.LayoutReported
		}
	}
	if objectStore {
		return view // a trainer does not report torn checkpoints
	}
	for _, c := range torn[:min(len(torn), 8)] {
		view.passedOver = append(view.passedOver, checkpoint.Passed{
			URI: at.uri(c.Path), Why: checkpoint.ManifestName + " is missing: its save did not end",
		})
	}
	return view
}

// reportOf is what the agent of rank 0 reports.
func reportOf(t Trainer, now time.Time, r Rank, view checkpointView, delivered string) checkpoint.Report {
	status, first := t.Status(now)
	return checkpoint.Report{
		Attempt: r.Attempt, Start: r.Start, Phase: status.Phase.Reported(), Step: status.Step,
		TotalSteps:  status.TotalSteps,
		StepSeconds: status.StepSeconds, Metrics: status.Metrics, FirstStep: first,
		Checkpoint: view.checkpoint, Layout: view.layout, PassedOver: view.passedOver,
		CommandID: status.CommandID, DeliveredID: delivered,
	}
}

// terminationOf is the termination message of a rank.
func terminationOf(e Exit, attempt int32) checkpoint.Termination {
	message := checkpoint.Termination{Reason: e.Reason, ExitCode: e.Code, Signal: e.Signal, Attempt: attempt}
	if e.Code != 0 {
		message.Log = e.Log
	}
	return message
}

// leaderTerminationOf is the termination message of rank 0, which alone knows about the training.
func leaderTerminationOf(t Trainer, attempt int32, view checkpointView) checkpoint.Termination {
	message := terminationOf(*t.Exit, attempt)
	step := t.Step
	message.Phase, message.Step = t.Phase.Reported(), &step
	message.Checkpoint, message.Layout, message.PassedOver = view.checkpoint, view.layout, view.passedOver
	return message
}

// resolverTerminationOf is the termination message of `agent resolve`: the newest complete checkpoint of all
// attempts.
func resolverTerminationOf(f *StateFile, pod *corev1.Pod) checkpoint.Termination {
	r, err := readResolver(pod)
	if err != nil {
		return checkpoint.Termination{
			Reason: checkpoint.ExitFailed, ExitCode: 2, Problem: checkpoint.Printable(err.Error(), 512),
		}
	}
	view := viewCheckpoints(f, r.Location, r.allowed(r.Selection), false)
	if older := r.Selection.OlderThan; older != nil && view.checkpoint == nil {
		any := r.Selection
		any.OlderThan = nil
		view = viewCheckpoints(f, r.Location, r.allowed(any), false)
	}
	return checkpoint.Termination{
		Reason: checkpoint.ExitResolved, Attempt: r.Attempt, Phase: checkpoint.PhaseResolved,
		Checkpoint: view.checkpoint, Layout: view.layout, PassedOver: view.passedOver,
	}
}

// followerExit is how another rank ends after rank 0: with the same exit code, but knowing nothing about the
// training.
func followerExit(exit Exit) Exit {
	if exit.Reason == checkpoint.ExitCompleted {
		exit.Reason = checkpoint.ExitExited
	}
	exit.Log = ""
	return exit
}

// exitFromStatus reads a trainer's exit from its pod's status; nil if there is no pod, or it has not ended.
func exitFromStatus(pod *corev1.Pod) *Exit {
	if pod == nil || !hasEnded(pod) {
		return nil
	}
	name := trainerOf(pod).Name
	for _, c := range pod.Status.ContainerStatuses {
		if ended := c.State.Terminated; c.Name == name && ended != nil {
			exit := Exit{At: ended.FinishedAt.Time, Code: ended.ExitCode, Reason: checkpoint.ExitExited}
			if message, err := checkpoint.ParseTermination([]byte(ended.Message)); err == nil {
				exit.Reason, exit.Signal = message.Reason, message.Signal
			}
			return &exit
		}
	}
	return nil
}

package simtrainer

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// ending of a pod, as its kubelet would write it.
type ending struct {
	// container that ended so; all others end with code 0.
	container int
	code      int32
	// message is the container's termination message.
	message string
	at      time.Time
}

// endedStatus is the pod's status after its end. The original stays as it is.
func endedStatus(pod *corev1.Pod, e ending) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	at := metav1.NewTime(e.at)
	status.Phase = corev1.PodSucceeded
	reason := "PodCompleted"
	if e.code != 0 {
		status.Phase, reason = corev1.PodFailed, "PodFailed"
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, reason, at
		}
	}
	trainer := pod.Spec.Containers[e.container].Name
	for i := range status.ContainerStatuses {
		c := &status.ContainerStatuses[i]
		code, message := int32(0), ""
		if c.Name == trainer {
			code, message = e.code, e.message
		}
		end(c, code, message, at)
	}
	for i := range status.InitContainerStatuses { // those that run beside the others
		if c := &status.InitContainerStatuses[i]; c.State.Terminated == nil {
			end(c, 0, "", at)
		}
	}
	return status
}

func end(c *corev1.ContainerStatus, code int32, message string, at metav1.Time) {
	ended := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", Message: message, FinishedAt: at}
	if code != 0 {
		ended.Reason = "Error"
	}
	if c.State.Running != nil {
		ended.StartedAt = c.State.Running.StartedAt
	}
	c.State = corev1.ContainerState{Terminated: ended}
	c.Ready, c.Started = false, new(bool)
}

// hasEnded says whether the pod's containers have.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// lastWord is the agent's, of a trainer that has ended.
func lastWord(e Exit, attempt int32) checkpoint.Termination {
	word := checkpoint.Termination{Reason: e.Reason, ExitCode: e.Code, Signal: e.Signal, Attempt: attempt}
	if e.Code != 0 {
		word.Log = e.Log
	}
	return word
}

// leaderWord adds what only rank 0 knows.
func leaderWord(t Trainer, attempt int32, seen sight) checkpoint.Termination {
	word := lastWord(*t.Exit, attempt)
	step := t.Step
	word.Phase, word.Step = t.Phase, &step
	word.Checkpoint, word.Layout, word.PassedOver = seen.checkpoint, seen.layout, seen.passedOver
	return word
}

// followerExit: a rank ends as rank 0 does, but it has nothing to say of the training.
func followerExit(leader Exit) Exit {
	if leader.Reason == checkpoint.ExitCompleted {
		leader.Reason = checkpoint.ExitExited
	}
	leader.Log = ""
	return leader
}

// sight is what the agent of rank 0, or `agent resolve`, sees of the checkpoints.
type sight struct {
	checkpoint *checkpoint.Save
	layout     checkpoint.Layout
	passedOver []checkpoint.Passed
}

// look at a place: at the checkpoints of one attempt, or of all (0).
func look(v *Volume, at Place, attempt int32, object bool) sight {
	newest, torn := v.Newest(at, attempt)
	var s sight
	if newest != nil {
		committed := newest.Time.UTC().Truncate(time.Second)
		s.checkpoint = &checkpoint.Save{
			State: checkpoint.SaveCommitted, URI: at.uri(newest.Path), Step: newest.Step, CommittedAt: &committed, DurationSeconds: newest.Seconds,
		}
		s.layout = checkpoint.LayoutManifest
		if object {
			s.layout = checkpoint.LayoutReported
		}
	}
	if object {
		return s // nobody sees what the trainer does not speak of
	}
	for _, c := range torn[:min(len(torn), 8)] {
		s.passedOver = append(s.passedOver, checkpoint.Passed{URI: at.uri(c.Path), Why: fmt.Sprintf("%s is missing: its save did not end", checkpoint.ManifestName)})
	}
	return s
}

// report is what the agent of rank 0 says.
func report(t Trainer, now time.Time, r Rank, seen sight, delivered string) checkpoint.Report {
	status, first := t.Status(now)
	return checkpoint.Report{
		Attempt: r.Attempt, Phase: status.Phase, Step: status.Step, TotalSteps: status.TotalSteps, StepSeconds: status.StepSeconds,
		Metrics: status.Metrics, FirstStep: first, Checkpoint: seen.checkpoint, Layout: seen.layout, PassedOver: seen.passedOver,
		CommandID: status.CommandID, DeliveredID: delivered,
	}
}

package observation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxFailureMessage is the longest message of a failure in the status, in bytes. Its tail is kept.
const maxFailureMessage = 2048

// Failure is a rank that ended by itself, without success.
type Failure struct {
	Rank     spec.RankRef
	Pod      *corev1.Pod
	ExitCode *int32
	Reason   string
	Message  string
	Finished time.Time
	// Permanent: its restart policy excludes another attempt.
	Permanent bool
}

// failedRanks returns the ranks that failed by themselves, in the order in which they ended: the first
// failure usually causes the others.
func failedRanks(job *v1alpha1.TrainingJob, ranks *Attempt) []Failure {
	var failed []Failure
	for i := range ranks.Ranks {
		r := &ranks.Ranks[i]
		pod := r.LastPod()
		if pod == nil || r.State == RankSucceeded || r.Phase() != corev1.PodFailed {
			continue
		}
		if _, taken := takenAway(r); taken {
			continue
		}
		f := failureOf(r)
		switch r.Policy {
		case v1alpha1.RestartNever:
			f.Permanent = true
		case v1alpha1.RestartExitCode:
			f.Permanent = f.ExitCode != nil && *f.ExitCode < 128
		}
		failed = append(failed, f)
	}
	return sorted(failed)
}

// sorted returns failures in the order in which they ended; those of the same second keep their order.
func sorted(failed []Failure) []Failure {
	slices.SortStableFunc(failed, func(a, b Failure) int { return a.Finished.Compare(b.Finished) })
	return failed
}

// FirstFailure returns the failure that decides whether the job can retry: the first to end or, within the
// same second, the first in the list. Among those within clockMargin the order is unknown, and a retryable
// failure comes before a permanent one: a killed rank breaks its peers, whose exit codes are then mostly
// those of permanent errors.
//
// The result does not depend on how many failures one reconcile observes: the first of some, put before the
// later ones, leads to the first of all.
func FirstFailure(failed []Failure) Failure {
	failed = sorted(slices.Clone(failed))
	for _, f := range failed {
		if f.Finished.After(failed[0].Finished.Add(clockMargin)) {
			break
		}
		if !f.Permanent {
			return f
		}
	}
	return failed[0]
}

// failureOf returns the failure of a rank from a failed container of its last pod: the trainer, if that
// failed.
func failureOf(r *Rank) Failure {
	pod := r.LastPod()
	f := Failure{
		Rank: r.RankRef, Pod: pod, Reason: Line(pod.Status.Reason), Message: Lines(pod.Status.Message),
		Finished: lastChange(pod),
	}
	if brokeOwnLimit(pod) {
		return f // the exit code says how its containers bore being killed
	}
	containers := failedContainers(pod, r.Trainer)
	if len(containers) == 0 {
		return f
	}
	t := containers[0]
	f.ExitCode, f.Finished = &t.ExitCode, cmp.Or(t.FinishedAt.Time, f.Finished)
	f.Reason, f.Message = Line(t.Reason), cmp.Or(Lines(t.Message), f.Message)
	if message, err := checkpoint.ParseTermination([]byte(t.Message)); err == nil {
		f.readTermination(message)
	}
	return f
}

// failedContainers returns the failed containers: the trainer, then in the pod's order, init containers last.
func failedContainers(pod *corev1.Pod, trainer string) []*corev1.ContainerStateTerminated {
	var first, others []*corev1.ContainerStateTerminated
	for _, s := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		switch t := s.State.Terminated; {
		case t == nil || t.ExitCode == 0:
		case s.Name == trainer:
			first = append(first, t)
		default:
			others = append(others, t)
		}
	}
	return append(first, others...)
}

// readTermination takes the end of the log from the agent's termination message. It also takes how the
// trainer ended, if the kubelet reports only the reason Error.
func (f *Failure) readTermination(message *checkpoint.Termination) {
	f.Message = cmp.Or(Lines(message.Log), Line(message.Problem))
	if f.Reason != "Error" {
		return
	}
	switch message.Reason {
	case checkpoint.ExitStartFailed, checkpoint.ExitGraceExceeded:
		f.Reason = string(message.Reason)
	case checkpoint.ExitSignaled:
		f.Reason = Line(message.Signal)
	}
}

// Status returns the failure for status.lastFailure.
func (f Failure) Status(attempt int32, now time.Time) *v1alpha1.FailureStatus {
	t := metav1.NewTime(cmp.Or(f.Finished, now).Truncate(time.Second))
	return &v1alpha1.FailureStatus{
		Role: f.Rank.Role, Index: f.Rank.Index, PodName: f.Pod.Name, Attempt: attempt, Node: f.Pod.Spec.NodeName,
		ExitCode: f.ExitCode, Reason: f.Reason, Message: tail(f.Message, maxFailureMessage), Time: &t,
	}
}

// String returns one sentence: which pod ended, and how.
func (f Failure) String() string {
	switch {
	case f.ExitCode != nil && f.Reason != "" && f.Reason != "Error":
		return fmt.Sprintf("%s exited with code %d (%s)", f.Pod.Name, *f.ExitCode, f.Reason)
	case f.ExitCode != nil:
		return fmt.Sprintf("%s exited with code %d", f.Pod.Name, *f.ExitCode)
	case f.Reason == evicted: // for its own limits
		return fmt.Sprintf("%s was evicted: %s", f.Pod.Name, sentence(f.Message))
	case f.Reason != "":
		return fmt.Sprintf("%s failed: %s", f.Pod.Name, f.Reason)
	}
	return f.Pod.Name + " failed with an unknown exit code"
}

// sentence removes the full stop and the space at the end of the kubelet's messages.
func sentence(message string) string { return strings.TrimRight(Line(message), ". \n") }

// tail returns the end of s, at most n bytes of valid UTF-8.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}

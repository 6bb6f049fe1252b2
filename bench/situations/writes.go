package situations

import (
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/measure"
)

// operatorProgram is the name under which the operator writes.
const operatorProgram = "operator"

// write of the operator.
type write struct {
	// name of the object: events are named after what they are about, and so are a gang's pods and its group.
	name string
	at   time.Time
}

// operatorWrites are what the operator has written since the log was read last.
func operatorWrites(log *measure.AuditLog) (writes []write, err error) {
	err = log.Each(func(agent string, e *auditv1.Event) {
		if agent == operatorProgram && e.ObjectRef.Namespace == namespace {
			writes = append(writes, write{e.ObjectRef.Name, e.RequestReceivedTimestamp.Time})
		}
	})
	return writes, err
}

// about a gang are so many writes since a time.
func about(gang string, since time.Time, writes []write) (n int) {
	for _, w := range writes {
		rest, named := strings.CutPrefix(w.name, gang)
		if named && (rest == "" || rest[0] == '-' || rest[0] == '.') && !w.at.Before(since) {
			n++
		}
	}
	return n
}

// endedAt is when a gang began to end, in whole seconds: what it has reported before is no part of a
// preemption.
func endedAt(status *v1alpha1.TrainingJobStatus) (at time.Time) {
	for _, t := range slices.Backward(status.Transitions) {
		if t.Phase == v1alpha1.PhaseDraining {
			return t.Time.Time
		}
	}
	return at
}

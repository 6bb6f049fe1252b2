package situations

import (
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
)

// operatorProgram is the name under which the operator writes.
const operatorProgram = "operator"

// operatorWrites counts what the operator has written since the log was read last, by the name of the object:
// events are named after what they are about, and so are a gang's pods and its group.
func operatorWrites(log *measure.AuditLog) (byName map[string]int, err error) {
	byName = map[string]int{}
	err = log.Each(func(agent string, e *auditv1.Event) {
		if agent == operatorProgram && e.ObjectRef.Namespace == namespace {
			byName[e.ObjectRef.Name]++
		}
	})
	return byName, err
}

// about a gang are so many writes.
func about(gang string, byName map[string]int) (writes int) {
	for name, n := range byName {
		rest, named := strings.CutPrefix(name, gang)
		if named && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			writes += n
		}
	}
	return writes
}

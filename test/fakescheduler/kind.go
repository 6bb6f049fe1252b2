package fakescheduler

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// groupKind is the kind of the dialect's groups. They are unstructured, so that no scheme has to know them.
var groupKind = schema.GroupVersionKind{Group: "fake.mlplatform.example.com", Version: "v1", Kind: "Group"}

// Annotations of a joined pod.
const (
	AnnotationGroup   = "fake.mlplatform.example.com/group"
	AnnotationRole    = "fake.mlplatform.example.com/role"
	AnnotationAttempt = "fake.mlplatform.example.com/attempt"
)

//go:embed crd.yaml
var crd []byte

// CRD returns the definition of the dialect's groups, to be created before the operator starts.
func CRD() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(crd, &u.Object); err != nil {
		panic("fake: the embedded crd.yaml is not valid YAML: " + err.Error())
	}
	return u
}

// statusOf reads a group's status. It does not panic, whatever the status contains.
func statusOf(u *unstructured.Unstructured) Status {
	var s Status
	s.Attempt, _, _ = unstructured.NestedInt64(u.Object, "status", "attempt")
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	s.Phase = Phase(phase)
	s.Reason, _, _ = unstructured.NestedString(u.Object, "status", "reason")
	s.Message, _, _ = unstructured.NestedString(u.Object, "status", "message")
	return s
}

// SetStatus sets the status of a group object in memory, as the scheduler does before it patches it.
func SetStatus(u *unstructured.Unstructured, s Status) {
	u.Object["status"] = map[string]any{
		"attempt": s.Attempt, "phase": string(s.Phase), "reason": s.Reason, "message": s.Message,
	}
}

package history

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Namespace that exists now. Its name can have belonged to other namespaces before, perhaps of other users.
type Namespace struct {
	Name string
	// UID; empty if namespaces with the name are not distinguished.
	UID     types.UID
	Created time.Time
}

// Holds reports whether a job is or was in this namespace, not in a former one with the name. If the UID of
// the job's namespace is unknown, as in records of former versions of the server, a job that is older than
// the namespace was in a former one.
func (n Namespace) Holds(j *Job) bool {
	switch {
	case j.Namespace != n.Name:
		return false
	case n.UID == "" || j.NamespaceUID == n.UID:
		return true
	}
	return j.NamespaceUID == "" && !j.Created.Before(n.Created)
}

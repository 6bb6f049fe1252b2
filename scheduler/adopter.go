package scheduler

import "k8s.io/apimachinery/pkg/runtime/schema"

// Adopter is a Backend whose gangs may name an object that somebody else has made for them. The object
// becomes the job's own, by its controller reference, unless it has another controller: what Objects returns
// of that name is applied to it, and never created. Until it is the job's, Read gets it too.
type Adopter interface {
	Backend
	// Adopts returns the kind and the name of the object that the gang names; no name: it names none.
	Adopts(Gang) (schema.GroupVersionKind, string)
}

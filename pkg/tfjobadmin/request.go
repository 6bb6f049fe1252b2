package tfjobadmin

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Request is what a client says of a job. What it does not say is nil, which Apply leaves as it is; an empty
// text, list or object clears a field.
type Request struct {
	Name, User, ID *string

	Description, Partition, Runtime           *string
	Workdir, Bootfile                         *string
	Args                                      *[]string
	Environment                               *Environment
	CheckpointDir, EventDir, ModelDir, LogDir *string
	// Replicas have one element at most for each type.
	Replicas []ReplicaRequest

	// Unknown are the fields that the dialect does not have. ReadOnly are those that it has in answers alone.
	Unknown, ReadOnly []*field.Path

	paths map[string]*field.Path
	// nested is true for a document with spec.
	nested bool
}

// ReplicaRequest is what a client says of the ranks of one type, which is worker where it does not say.
type ReplicaRequest struct {
	Type        string
	Count       *int32
	CPU, Memory *resource.Quantity
	GPU         *int64
}

// At is the path of a field as the request spells it. Where the request has no such field, it is the one that
// a document of the same form would have.
func (r *Request) At(name string) *field.Path {
	if path, has := r.paths[name]; has {
		return path
	}
	if !r.nested {
		_, name, _ = strings.Cut(name, ".")
	}
	return Canonical(name)
}

// Apply returns a copy of a spec, changed to what the request says. Replicas are changed by their type: one
// that the request does not name stays, and one that the spec does not have is added with a count of 1.
func (r *Request) Apply(to Spec) Spec {
	for _, text := range []struct {
		to   *string
		from *string
	}{
		{&to.Description, r.Description}, {&to.Partition, r.Partition}, {&to.Runtime, r.Runtime},
		{&to.Workdir, r.Workdir}, {&to.Bootfile, r.Bootfile}, {&to.CheckpointDir, r.CheckpointDir},
		{&to.EventDir, r.EventDir}, {&to.ModelDir, r.ModelDir}, {&to.LogDir, r.LogDir},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	if r.Args != nil {
		to.Args = slices.Clone(*r.Args)
	}
	if r.Environment != nil {
		to.Environment = *r.Environment
	}
	to.Replicas = slices.Clone(to.Replicas)
	for _, replica := range r.Replicas {
		i := slices.IndexFunc(to.Replicas, func(of Replica) bool { return of.Type == replica.Type })
		if i < 0 {
			i = len(to.Replicas)
			to.Replicas = append(to.Replicas, Replica{Type: replica.Type, Count: 1})
		}
		replica.apply(&to.Replicas[i])
	}
	return to
}

func (r ReplicaRequest) apply(to *Replica) {
	if r.Count != nil {
		to.Count = *r.Count
	}
	to.Resource.CPU = cmp.Or(r.CPU, to.Resource.CPU)
	to.Resource.Memory = cmp.Or(r.Memory, to.Resource.Memory)
	if r.GPU != nil {
		to.Resource.GPU = *r.GPU
	}
}

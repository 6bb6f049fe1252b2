package tfjobadmin

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// replicas are a list, or an object that holds the list beside a count, or fields beside the job's others,
// which describe one type.
func (r *reader) replicas(o object) {
	value, path, has := r.take(o, "replicas")
	flat := slices.DeleteFunc(slices.Clone(flatNames), func(name string) bool {
		_, given := o.fields[name]
		return !given
	})
	switch {
	case !has && len(flat) == 0:
		return
	case !has:
		r.request.paths["spec.replicas"] = o.at(flat[0])
		r.replica(o, o)
		return
	case len(flat) > 0:
		r.problems.add(o.at(flat[0]), "is given together with replicas", "give it in each of the replicas")
		return
	}
	r.request.paths["spec.replicas"] = path
	list, is := value.([]any)
	var total *int64
	if !is {
		list, path, total, is = r.replicasObject(value, path)
	}
	if !is {
		return
	}
	if len(list) == 0 {
		r.problems.add(path, "is empty", "give at least one of type worker")
	}
	for i, element := range list {
		r.element(element, path.Index(i))
	}
	r.checkTotal(total, path)
}

// element of the list of replicas.
func (r *reader) element(value any, path *field.Path) {
	replica, is := r.object(path, value)
	if !is {
		return
	}
	resources := object{path: replica.at("resource")}
	if value, path, has := r.take(replica, "resource"); has {
		if resources, is = r.object(path, value); !is {
			return
		}
	}
	r.replica(replica, resources)
	r.rest(replica)
	r.rest(resources)
}

// replica reads one type of replicas, whose resources may stand in an object of their own.
func (r *reader) replica(o, resources object) {
	replica := ReplicaRequest{Type: TypeWorker}
	if value, at, has := r.take(o, "type"); has {
		text, _ := value.(string)
		replica.Type = strings.ToLower(text)
		if replica.Type != TypeWorker && replica.Type != TypePS {
			r.problems.add(at, quoted(value)+" is no type of replicas", "give worker or ps")
			return
		}
	}
	if slices.ContainsFunc(r.request.Replicas, func(q ReplicaRequest) bool { return q.Type == replica.Type }) {
		r.problems.add(o.at("type"), replica.Type+" is given twice", "give the replicas of a type once")
		return
	}
	if n := r.whole(o, spec.MaxReplicas, countNames...); n != nil {
		replica.Count = new(int32(*n)) //nolint:gosec // at most MaxReplicas
	}
	replica.CPU = r.quantity(resources, "cpu", resource.Milli, mostCPU,
		"a number of cores, to the thousandth, such as 1.000")
	replica.Memory = r.quantity(resources, "memory", 0, mostMemory,
		"whole bytes with a unit, such as 2048Mi")
	replica.GPU = r.whole(resources, mostGPUs, "gpu")
	r.request.Replicas = append(r.request.Replicas, replica)
}

// replicasObject takes the list out of the object in which some of the document's examples have it.
func (r *reader) replicasObject(value any, path *field.Path) ([]any, *field.Path, *int64, bool) {
	if _, is := value.(map[string]any); !is {
		r.problems.add(path, "is "+kindOf(value), "give a list of objects with type, count and resource")
		return nil, nil, nil, false
	}
	o, _ := r.object(path, value)
	total := r.whole(o, 2*spec.MaxReplicas, countNames...)
	inner, at, has := r.take(o, "replicas")
	list, is := inner.([]any)
	switch {
	case !has:
		r.problems.add(o.at("replicas"), "is missing", "give the list of replicas there, or without the object")
	case !is:
		r.problems.add(at, "is "+kindOf(inner), "give a list of objects with type, count and resource")
	}
	r.rest(o)
	return list, at, total, has && is
}

// checkTotal holds the count beside a list of replicas against the list: the document does not say whether it
// counts the ranks or the types.
func (r *reader) checkTotal(total *int64, path *field.Path) {
	if total == nil || len(r.problems) > 0 {
		return
	}
	var ranks int64
	for _, replica := range r.request.Replicas {
		if replica.Count == nil {
			ranks++
		} else {
			ranks += int64(*replica.Count)
		}
	}
	if types := int64(len(r.request.Replicas)); *total != ranks && *total != types {
		r.problems.add(path, fmt.Sprintf("the count next to it is %d, but there are %d ranks of %d types",
			*total, ranks, types), "leave that count out, or give the number of ranks")
	}
}

package kueue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// validateTopology refuses topology annotations that Kueue would ignore, or that its webhooks refuse for its
// own jobs (pkg/controller/jobframework/tas_validation.go).
func validateTopology(g scheduler.Gang) field.ErrorList {
	if g.Within != "" {
		return validateWithin(g)
	}
	errs := validateJobTopology(g)
	for _, r := range g.Roles {
		if r.Template != nil {
			errs = append(errs, validateTopologyOf(templatePath(r), r.Template.Annotations, r.Replicas)...)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return validateGroups(g)
}

// validateWithin refuses a gang that Kueue cannot keep within one domain, and annotations that the field
// replaces.
func validateWithin(g scheduler.Gang) field.ErrorList {
	var errs field.ErrorList
	refuse := func(path *field.Path, annotations map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(topologyIn(annotations))) {
			errs = append(errs, field.Invalid(path.Key(key), annotations[key], fmt.Sprintf(
				"contradicts %s, which sets the topology of every role: remove one of "+
					"them", scheduler.PathTopology)))
		}
	}
	refuse(field.NewPath("metadata", "annotations"), g.JobAnnotations)
	for _, r := range g.Roles {
		if r.Template != nil {
			refuse(templatePath(r), r.Template.Annotations)
		}
	}
	roles := rolesWithRanks(g)
	if len(roles) > 2 || len(roles) == 2 && min(roles[0].Replicas, roles[1].Replicas) > 1 {
		errs = append(errs, field.Forbidden(field.NewPath(scheduler.PathTopology), fmt.Sprintf(
			"Kueue keeps at most two roles within one %s, one of which has one rank, and these are %d: set "+
				"scheduler volcano or native, or mode Pack", g.Within, len(roles))))
	}
	return errs
}

// templatePath returns the path of a role's pod annotations. The simple form has no template.
func templatePath(r scheduler.Role) *field.Path {
	return field.NewPath("spec", "replicaSpecs").Key(r.Name).Child("template", "metadata", "annotations")
}

// validateGroups refuses groups of roles that Kueue does not place together. Kueue requires two roles with
// the same request, and one of them must have one rank.
func validateGroups(g scheduler.Gang) field.ErrorList {
	const key = kueuev1beta2.PodSetGroupName
	groups := map[string][]scheduler.Role{}
	for _, r := range g.Roles {
		if name, ok := topologyOf(g, r)[key]; ok && r.Replicas > 0 {
			groups[name] = append(groups[name], r)
		}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		roles := groups[name]
		path := templatePath(roles[0]).Key(key)
		if len(roles) != 2 || roles[0].Replicas > 1 && roles[1].Replicas > 1 {
			errs = append(errs, field.Invalid(path, name,
				"Kueue places two roles together, one of which has one rank: set the name on such a pair, or "+
					"remove it"))
			continue
		}
		a, b := topologyRequest(topologyOf(g, roles[0])), topologyRequest(topologyOf(g, roles[1]))
		if !ptr.Equal(a.Required, b.Required) || !ptr.Equal(a.Preferred, b.Preferred) {
			errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
				"%s and %s request different levels of the topology: set the same for both, or remove the name",
				roles[0].Name, roles[1].Name)))
		}
	}
	return errs
}

// validateJobTopology refuses topology annotations of a job with several roles.
func validateJobTopology(g scheduler.Gang) field.ErrorList {
	path := field.NewPath("metadata", "annotations")
	all := topologyIn(g.JobAnnotations)
	if len(all) == 0 {
		return nil
	}
	key := slices.Min(slices.Collect(maps.Keys(all)))
	if len(g.Roles) != 1 {
		return field.ErrorList{field.Invalid(path.Key(key), all[key], fmt.Sprintf(
			"the job has %d roles, and Kueue places each of them by itself: set the annotation in "+
				"template.metadata.annotations of the roles that it is meant for", len(g.Roles)))}
	}
	if t := g.Roles[0].Template; t != nil && len(topologyIn(t.Annotations)) > 0 {
		return field.ErrorList{field.Invalid(path.Key(key), all[key], fmt.Sprintf(
			"the topology is given twice, here and in the template of %s: remove one of the two",
			g.Roles[0].Name))}
	}
	return validateTopologyOf(path, all, g.Roles[0].Replicas)
}

// validateTopologyOf refuses annotations of one role.
func validateTopologyOf(
	path *field.Path, all map[string]string, replicas int32,
) field.ErrorList {
	refuse := func(key, why string) field.ErrorList {
		return field.ErrorList{field.Invalid(path.Key(key), all[key], why)}
	}
	var asked []string
	for _, key := range []string{
		kueuev1beta2.PodSetRequiredTopologyAnnotation, kueuev1beta2.PodSetPreferredTopologyAnnotation,
		kueuev1beta2.PodSetUnconstrainedTopologyAnnotation,
	} {
		if _, set := all[key]; set {
			asked = append(asked, key)
		}
	}
	if len(asked) > 1 {
		return refuse(asked[1], fmt.Sprintf("contradicts %s: remove one of them", asked[0]))
	}
	if v, set := all[kueuev1beta2.PodSetUnconstrainedTopologyAnnotation]; set {
		if _, err := strconv.ParseBool(v); err != nil {
			return refuse(kueuev1beta2.PodSetUnconstrainedTopologyAnnotation,
				"must be true or false: set one of them, or remove it")
		}
	}
	for _, key := range []string{
		kueuev1beta2.PodSetRequiredTopologyAnnotation, kueuev1beta2.PodSetPreferredTopologyAnnotation,
		kueuev1beta2.PodSetSliceRequiredTopologyAnnotation,
	} {
		if v, set := all[key]; set && len(validation.IsQualifiedName(v)) > 0 {
			return refuse(key, "must be a node label that is a level of the topology: set one that `kubectl "+
				"get topologies.kueue.x-k8s.io -o yaml` lists")
		}
	}
	return append(validateGroupName(all, refuse), validateSlices(all, replicas, refuse)...)
}

// validateGroupName refuses a group of roles that Kueue would ignore.
func validateGroupName(all map[string]string, refuse func(key, why string) field.ErrorList) field.ErrorList {
	const key = kueuev1beta2.PodSetGroupName
	name, set := all[key]
	if !set {
		return nil
	}
	_, required := all[kueuev1beta2.PodSetRequiredTopologyAnnotation]
	_, preferred := all[kueuev1beta2.PodSetPreferredTopologyAnnotation]
	_, sliced := all[kueuev1beta2.PodSetSliceRequiredTopologyAnnotation]
	_, layered := all[kueuev1beta2.PodSetSliceRequiredTopologyConstraintsAnnotation]
	if _, err := strconv.ParseUint(name, 10, 64); err == nil {
		return refuse(key, "must not be a number: use a name with a letter")
	}
	if !required && !preferred {
		return refuse(key, fmt.Sprintf("goes with %s or %s alone: set one of the two, or remove it",
			kueuev1beta2.PodSetRequiredTopologyAnnotation, kueuev1beta2.PodSetPreferredTopologyAnnotation))
	}
	if sliced || layered {
		return refuse(key, "does not go with slices: remove it, or the annotations of the slices")
	}
	return nil
}

func validateSlices(
	all map[string]string, replicas int32, refuse func(key, why string) field.ErrorList,
) field.ErrorList {
	const (
		slice, size = kueuev1beta2.PodSetSliceRequiredTopologyAnnotation, kueuev1beta2.PodSetSliceSizeAnnotation
		layers      = kueuev1beta2.PodSetSliceRequiredTopologyConstraintsAnnotation
	)
	_, hasSlice := all[slice]
	n, hasSize := all[size]
	if hasSlice != hasSize {
		return refuse(size, fmt.Sprintf("goes with %s alone: set both or remove both", slice))
	}
	parsed, err := strconv.ParseInt(n, 10, 32)
	if hasSize && (err != nil || parsed < 1 || parsed > int64(replicas)) {
		return refuse(size, fmt.Sprintf("must be a number of ranks from 1 to %d: set one", replicas))
	}
	if text, set := all[layers]; set {
		var constraints []kueuev1beta2.PodsetSliceRequiredTopologyConstraint
		err := json.Unmarshal([]byte(text), &constraints)
		if err != nil || len(constraints) < 1 || len(constraints) > 3 {
			return refuse(layers,
				"must be a JSON list of one to three {topology, size}: set such a list, or remove it")
		}
		if constraints[0].Size > replicas {
			return refuse(layers, fmt.Sprintf("its first size must not exceed the %d ranks: set a smaller one",
				replicas))
		}
		if hasSlice {
			return refuse(layers, fmt.Sprintf("contradicts %s: remove one of them", slice))
		}
	}
	return nil
}

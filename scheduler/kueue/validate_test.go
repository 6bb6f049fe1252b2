package kueue_test

import (
	"fmt"
	"maps"
	"regexp"
	"testing"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// TestRefuses covers what Prepare adds and what is part of templates, which the contract cannot cover.
func TestRefuses(t *testing.T) {
	annotation := func(key, value string) func(*scheduler.Gang) {
		return func(g *scheduler.Gang) { g.Roles[0].Template.Annotations[key] = value }
	}
	in := func(key string) string {
		return fmt.Sprintf("spec.replicaSpecs[Worker].template.metadata.annotations[%s]", key)
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*scheduler.Gang)
		path   string
	}{
		"no queue": {
			"Kueue admits jobs only through a queue", func(g *scheduler.Gang) { g.Queue, g.JobLabels = "", nil },
			scheduler.PathQueue,
		},
		"no label": {
			"Kueue's pod integration would gate the ranks", func(g *scheduler.Gang) { g.JobLabels = nil },
			"metadata.labels[kueue.x-k8s.io/queue-name]",
		},
		"two topologies": {
			"one of them would be ignored", func(g *scheduler.Gang) {
				annotation(kueuev1beta2.PodSetRequiredTopologyAnnotation, "rack")(g)
				annotation(kueuev1beta2.PodSetPreferredTopologyAnnotation, "block")(g)
			}, in(kueuev1beta2.PodSetPreferredTopologyAnnotation),
		},
		"a topology that is no boolean": {
			"Kueue refuses the pods", annotation(kueuev1beta2.PodSetUnconstrainedTopologyAnnotation, "maybe"),
			in(kueuev1beta2.PodSetUnconstrainedTopologyAnnotation),
		},
		"a slice without a size": {
			"it would be ignored", annotation(kueuev1beta2.PodSetSliceRequiredTopologyAnnotation, "rack"),
			in(kueuev1beta2.PodSetSliceSizeAnnotation),
		},
		"a slice size that is no number": {
			"it would be ignored", func(g *scheduler.Gang) {
				annotation(kueuev1beta2.PodSetSliceRequiredTopologyAnnotation, "rack")(g)
				annotation(kueuev1beta2.PodSetSliceSizeAnnotation, "two")(g)
			}, in(kueuev1beta2.PodSetSliceSizeAnnotation),
		},
		"layers that are none": {
			"they would be ignored",
			annotation(kueuev1beta2.PodSetSliceRequiredTopologyConstraintsAnnotation, "[]"),
			in(kueuev1beta2.PodSetSliceRequiredTopologyConstraintsAnnotation),
		},
		"a level that is no label": {
			"Kueue finds no such level", annotation(kueuev1beta2.PodSetRequiredTopologyAnnotation, "a rack"),
			in(kueuev1beta2.PodSetRequiredTopologyAnnotation),
		},
		"a slice larger than the role": {
			"it fits nowhere", func(g *scheduler.Gang) {
				annotation(kueuev1beta2.PodSetSliceRequiredTopologyAnnotation, "rack")(g)
				annotation(kueuev1beta2.PodSetSliceSizeAnnotation, "5")(g)
			}, in(kueuev1beta2.PodSetSliceSizeAnnotation),
		},
		"a group of one role": {
			"Kueue places pairs", func(g *scheduler.Gang) {
				annotation(kueuev1beta2.PodSetRequiredTopologyAnnotation, "rack")(g)
				annotation(kueuev1beta2.PodSetGroupName, "all")(g)
			}, in(kueuev1beta2.PodSetGroupName),
		},
		"a group without a level": {
			"it would be ignored", annotation(kueuev1beta2.PodSetGroupName, "all"), in(kueuev1beta2.PodSetGroupName),
		},
		"a topology for one of several roles": {
			"the role is ambiguous", func(g *scheduler.Gang) {
				g.Roles = append(g.Roles, scheduler.Role{Name: "Evaluator", Replicas: 1, MinAvailable: 1})
				g.MinAvailable++
				onJob(kueuev1beta2.PodSetRequiredTopologyAnnotation, "rack")(g)
			}, onTheJob(kueuev1beta2.PodSetRequiredTopologyAnnotation),
		},
		"a topology given twice": {
			"one of them would be ignored", func(g *scheduler.Gang) {
				annotation(kueuev1beta2.PodSetRequiredTopologyAnnotation, "rack")(g)
				onJob(kueuev1beta2.PodSetPreferredTopologyAnnotation, "rack")(g)
			}, onTheJob(kueuev1beta2.PodSetPreferredTopologyAnnotation),
		},
		"a topology of the job that is none": {
			"it would be ignored", onJob(kueuev1beta2.PodSetUnconstrainedTopologyAnnotation, "maybe"),
			onTheJob(kueuev1beta2.PodSetUnconstrainedTopologyAnnotation),
		},
		"a time that is none": {
			"it would be ignored", func(g *scheduler.Gang) { g.JobLabels[kueue.MaxExecTimeLabel] = "1h" },
			"metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			errs := kueue.New(kueue.Options{}).Validate(gang(tc.change))
			if len(errs) != 1 || errs[0].Field != tc.path || !remedy.MatchString(errs[0].Detail) {
				t.Errorf("%s: got %v, want a remedy for %s", tc.reason, errs, tc.path)
			}
		})
	}
}

// onJob sets an annotation of the job itself.
func onJob(key, value string) func(*scheduler.Gang) {
	return func(g *scheduler.Gang) {
		g.JobAnnotations = maps.Clone(g.JobAnnotations)
		if g.JobAnnotations == nil {
			g.JobAnnotations = map[string]string{}
		}
		g.JobAnnotations[key] = value
	}
}

func onTheJob(key string) string { return fmt.Sprintf("metadata.annotations[%s]", key) }

var remedy = regexp.MustCompile(`\b(set|remove)\b`)

package kueue_test

import (
	"fmt"
	"regexp"
	"testing"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// The contract cannot cover what Prepare adds and what is part of templates.
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
			"Kueue lets in through a queue only", func(g *scheduler.Gang) { g.Queue, g.JobLabels = "", nil },
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

var remedy = regexp.MustCompile(`\b(set|remove)\b`)

package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// TestBlockerInvalidSpec checks when an invalid spec is the reason why no rank is added to a gang.
func TestBlockerInvalidSpec(t *testing.T) {
	wrong := field.ErrorList{field.Required(field.NewPath("spec", "image"), "set it")}
	rejected := &observation.CreateBackoff{Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonNameTaken}}
	missing := &v1alpha1.Blocker{Reason: v1alpha1.ReasonSchedulerMissing}
	cases := map[string]struct {
		reason   string
		phase    v1alpha1.Phase
		snapshot observation.Snapshot
		want     string
	}{
		"queued": {
			"nothing is created for it", v1alpha1.PhaseQueued,
			observation.Snapshot{Gang: observation.Gang{Invalid: wrong}}, v1alpha1.ReasonInvalidSpec,
		},
		"running": {
			"its ranks go on, and none is added", v1alpha1.PhaseRunning,
			observation.Snapshot{Gang: observation.Gang{Invalid: wrong}}, v1alpha1.ReasonInvalidSpec,
		},
		"unsupported": {
			"the scheduler's dialect counts too", v1alpha1.PhaseStarting,
			observation.Snapshot{Gang: observation.Gang{Unsupported: wrong}}, v1alpha1.ReasonInvalidSpec,
		},
		"before a rejection": {
			"a rejected create is not tried again until the spec is valid", v1alpha1.PhaseRunning,
			observation.Snapshot{Gang: observation.Gang{Invalid: wrong}, CreateBackoff: rejected},
			v1alpha1.ReasonInvalidSpec,
		},
		"after the scheduler": {
			"without a scheduler nothing is rendered at all", v1alpha1.PhaseQueued,
			observation.Snapshot{Gang: observation.Gang{Invalid: wrong}, SchedulerProblem: missing},
			v1alpha1.ReasonSchedulerMissing,
		},
		"draining": {
			"no rank is to be added", v1alpha1.PhaseDraining,
			observation.Snapshot{Gang: observation.Gang{Invalid: wrong}}, "",
		},
		"valid": {
			"nothing is wrong", v1alpha1.PhaseRunning, observation.Snapshot{}, "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.snapshot.Job = jobtest.New(2)
			c.snapshot.Job.Status.Phase = c.phase
			got, blocked := blocker(&observation.Observation{Snapshot: c.snapshot})
			if got.Reason != c.want || blocked != (c.want != "") {
				t.Errorf("%s: blocked %t by %q, want %q", c.reason, blocked, got.Reason, c.want)
			}
			names := strings.Contains(got.Message, "spec.image")
			if invalid := got.Reason == v1alpha1.ReasonInvalidSpec; names != invalid {
				t.Errorf("names the field: %t, want %t: %s", names, invalid, got.Message)
			}
		})
	}
}

package tfjob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// TestProblemOf: the sentences of rules and policies stand alone, and what they advise is the remedy.
func TestProblemOf(t *testing.T) {
	const general = "correct the field as described"
	cases := map[string]struct{ message, detail, remedy string }{
		"a rule without its value": {
			"Invalid value: more than replicas cannot change while the job is Running: suspend the job first " +
				"(spec.runPolicy.suspend: true)",
			"more than replicas cannot change while the job is Running",
			"suspend the job first (spec.runPolicy.suspend: true)",
		},
		"a rule with a text": {
			`Invalid value: "a: \"b": not a version: write 2.1`, "not a version", "write 2.1",
		},
		"a rule with a number": {"Invalid value: 9: exceeds the 8 ranks", "exceeds the 8 ranks", general},
		"a rule with a list": {
			`Invalid value: ["a: b"]: has an empty word: remove it`, "has an empty word", "remove it",
		},
		"a policy": {
			"ValidatingAdmissionPolicy 'queues' with binding 'queues' denied request: two queues: name one",
			"two queues", "name one",
		},
		"forbidden": {
			"Forbidden: TF_CONFIG is the operator's: remove it", "TF_CONFIG is the operator's", "remove it",
		},
		"no advice":   {"no", "no", general},
		"only a kind": {"Required value", "Required value", general},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := problemOf(metav1.StatusCause{Message: c.message}, noField)
			if diff := cmp.Diff(tfjobadmin.Problem{Detail: c.detail, Remedy: c.remedy}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package validation_test

import (
	"encoding/json"
	"strings"
	"testing"

	k8svalidation "k8s.io/apimachinery/pkg/util/validation"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

// FuzzHyperparameters: a spec's hyperparameters are refused, or each becomes a variable of its own that a
// container can have, and none of the operator's.
func FuzzHyperparameters(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"lr": "0.1"}`, `{"lr": "1", "LR": "2"}`, `{"": "x"}`, `{"a b": "x"}`, `{"é": "x"}`,
		`{"a": "\u0000"}`,
		`{"a": 1}`, `{"a": true}`, `{"a": 1e400}`, `{"a": null}`, `{"a": {"b": "c"}}`, `{"a": "$(RANK)"}`, `[]`,
		`{"a.b": "1", "a-b": "2", "a_b": "3"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		job := &v1alpha1.TrainingJob{}
		if len(data) > maxInput || json.Unmarshal(data, &job.Spec.Hyperparameters) != nil {
			return
		}
		job.Name = "job"
		job.Spec.Framework, job.Spec.Image, job.Spec.Command = v1alpha1.FrameworkCustom, "i", []string{"c"}
		if len(validation.Validate(job)) > 0 {
			return
		}
		taken := map[string]string{}
		for name := range job.Spec.Hyperparameters {
			env := spec.HyperparameterEnv(name)
			if other, twice := taken[env]; twice {
				t.Fatalf("%q and %q are both %s", name, other, env)
			}
			taken[env] = name
			if problems := k8svalidation.IsEnvVarName(env); len(problems) > 0 {
				t.Fatalf("%q becomes %q: %v", name, env, problems)
			}
			if !strings.HasPrefix(env, "HYPERPARAM_") {
				t.Fatalf("%q becomes %q", name, env)
			}
		}
	})
}

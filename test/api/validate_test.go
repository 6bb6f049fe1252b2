package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

// job is the object of a case.
func (s spec) job() *v1alpha1.TrainingJob {
	j := simple()
	if s.full {
		j = full()
	}
	s.edit(j)
	return j
}

// plain writes a[b] as a.b: the API server does both.
func plain(field string) string { return strings.NewReplacer("[", ".", "]", "").Replace(field) }

func TestValidate(t *testing.T) {
	for name, s := range allSpecs() {
		t.Run(name, func(t *testing.T) {
			errs := validation.Validate(s.job())
			var fields []string
			var words strings.Builder
			for _, err := range errs {
				if f := plain(err.Field); !slices.Contains(fields, f) {
					fields = append(fields, f)
				}
				words.WriteString(err.Error() + "\n")
			}
			slices.Sort(fields)
			if diff := cmp.Diff(slices.Sorted(slices.Values(s.fields)), fields); diff != "" {
				t.Errorf("%s\nfields that are refused (-want +got):\n%s%s", s.reason, diff, words.String())
			}
			if !strings.Contains(words.String(), s.says) {
				t.Errorf("%s\nwant %q in\n%s", s.reason, s.says, words.String())
			}
		})
	}
}

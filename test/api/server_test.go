//go:build cluster

package api_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// All tests share one API server, because starting it dominates their time.
func TestAPIServer(t *testing.T) {
	c, config := apitest.StartWithConfig(t, "../..")
	s := server{c, config}
	t.Run("claims are warned of", s.claims)
	t.Run("specs", s.specs)
	t.Run("changes by phase", s.changesByPhase)
	t.Run("every field while running", s.everyField)
	t.Run("changes of roles", s.roleChanges)
	t.Run("managedBy while anything", s.managedByStays)
	t.Run("rehearsal while anything", s.rehearsalStays)
	t.Run("a job taken back from another cluster", s.takenBack)
	t.Run("the prebuilt Workload of a running job", s.prebuiltWorkload)
	t.Run("change in two steps", s.suspendThenChange)
	t.Run("scale", s.scale)
	t.Run("queue by label", s.queueByLabel)
	t.Run("Kueue's settings", s.kueueSettings)
	t.Run("defaults", s.nothingIsDefaulted)
	t.Run("policies", s.policies)
	t.Run("reports off", s.reportsOff)
	t.Run("boundaries", s.boundaries)
}

type server struct {
	client client.Client
	config *rest.Config
}

// specs: the API server accepts and rejects the same jobs as Validate.
func (s server) specs(t *testing.T) {
	for name, c := range allSpecs() {
		t.Run(name, func(t *testing.T) {
			// CEL shuffles the keys of a map, so a rule that depends on their order would answer differently
			// from call to call.
			for range 5 {
				err := s.client.Create(t.Context(), c.job(), client.DryRunAll)
				switch {
				case len(c.fields) > 0 && !c.goOnly:
					wantRejection(t, err, c.says, c.fields...)
				case err != nil:
					t.Errorf("%s\nrefused: %v", c.reason, err)
				}
			}
		})
	}
}

// wantRejection checks that the error names each of the fields and says what to change.
func wantRejection(t *testing.T, err error, says string, fields ...string) {
	t.Helper()
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		t.Errorf("want a rejection of %v, got %v", fields, err)
		return
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("want %q in\n%v", says, err)
	}
	if strings.Contains(err.Error(), "failed rule") { // the API server's words for a rule without a message
		t.Errorf("a raw rule is shown in\n%v", err)
	}
	causes := status.Status().Details.Causes
	for _, field := range fields {
		if !slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return names(c, field) }) {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
}

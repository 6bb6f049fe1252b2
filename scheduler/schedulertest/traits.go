package schedulertest

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// traitsHold: the operator reads the traits repeatedly and relies on them.
func traitsHold(v *verifier) {
	c := scheduler.Of(v.backend)
	if diff := cmp.Diff(c.Traits, v.backend.Traits()); diff != "" {
		v.failf("(-first +second call):\n%s", diff)
	}
	if c.WaitingClasses && c.Preemptor == nil {
		v.failf("WaitingClasses without being a Preemptor: no victims can be chosen for waiting gangs")
	}
	if c.ManagedBy != "" && c.QuotaSystem == nil {
		v.failf("dispatches jobs without being a QuotaSystem: no object represents a job that runs elsewhere")
	}
	if v.dialect.PodsFirst && !c.PodsFirst {
		v.failf("Read admits a gang without a group, but PodsFirst is false")
	}
	if strings.ContainsAny(c.Installation, "\n\t") || strings.HasSuffix(c.Installation, ".") {
		v.failf("Installation is not a phrase that can follow a semicolon: %q", c.Installation)
	}
	if slices.Contains(c.ClusterKinds, schema.GroupVersionKind{}) {
		v.failf("an empty kind in ClusterKinds")
	}
	if c.Waker == nil {
		return
	}
	by := c.Waker.WokenBy()
	if !by.Empty() && by != scheduler.PodKind && !slices.Contains(v.backend.Kinds(), by) {
		v.failf("woken by %s, which is not one of the gang's kinds", by)
	}
}

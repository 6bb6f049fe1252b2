// Package stubs has parts of backends for tests.
package stubs

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// NoQuotas is embedded by backends of tests that need some methods of a scheduler.QuotaSystem alone.
type NoQuotas struct{}

// SyncStatus writes nothing.
func (NoQuotas) SyncStatus(scheduler.Gang, scheduler.GangStatus, []client.Object) []scheduler.Write {
	return nil
}

// Adopts nothing.
func (NoQuotas) Adopts(scheduler.Gang) (schema.GroupVersionKind, string) {
	return schema.GroupVersionKind{}, ""
}

// TakesPreemptionGate is false.
func (NoQuotas) TakesPreemptionGate(scheduler.Gang) bool { return false }

// Contest knows none.
func (NoQuotas) Contest(
	[]client.Object, map[string]scheduler.Amounts, scheduler.ClusterState,
) (scheduler.Contest, bool) {
	return scheduler.Contest{}, false
}

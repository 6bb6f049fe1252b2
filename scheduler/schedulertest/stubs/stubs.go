// Package stubs has partial backends for tests.
package stubs

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// NoQuotas is embedded by test backends that need only some methods of a scheduler.QuotaSystem.
type NoQuotas struct{}

// SyncStatus returns no writes.
func (NoQuotas) SyncStatus(scheduler.Gang, scheduler.GangStatus, []client.Object) []scheduler.Write {
	return nil
}

// Adopts returns no kind.
func (NoQuotas) Adopts(scheduler.Gang) (schema.GroupVersionKind, string) {
	return schema.GroupVersionKind{}, ""
}

// TakesPreemptionGate returns false.
func (NoQuotas) TakesPreemptionGate(scheduler.Gang) bool { return false }

// Contest returns false.
func (NoQuotas) Contest(
	[]client.Object, map[string]scheduler.Amounts, scheduler.ClusterState,
) (scheduler.Contest, bool) {
	return scheduler.Contest{}, false
}

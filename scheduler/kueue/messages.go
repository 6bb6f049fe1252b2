package kueue

import (
	"regexp"
	"strings"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Kueue's messages for a quota that is too small (pkg/scheduler/flavorassigner/flavorassigner.go,
// fitsResourceQuota).
const (
	quotaInUse    = "insufficient unused quota"
	quotaTooSmall = "> maximum capacity"
)

// Kueue's messages for a topology that no flavor has (pkg/scheduler/flavorassigner/tas_flavorassigner.go,
// checkPodSetAndFlavorMatchForTAS; pkg/cache/scheduler/tas_flavor_snapshot.go).
const (
	noTopology = "does not support TopologyAwareScheduling"
	noLevel    = "does not contain the requested level"
)

// quotaReason returns from Kueue's message the reason why a Workload got no quota.
func quotaReason(message string) string {
	switch {
	case strings.Contains(message, quotaInUse): // another flavor may be too small as well
		return scheduler.ReasonQuotaExceeded
	case strings.Contains(message, quotaTooSmall):
		return scheduler.ReasonExceedsQuota
	case strings.Contains(message, noTopology), strings.Contains(message, noLevel):
		return scheduler.ReasonTopologyNotServed
	case noDomain(message):
		return scheduler.ReasonInsufficientResources
	}
	return scheduler.ReasonWaitingInQueue
}

// noDomain reports whether there is quota but no domain of the role's topology has enough free
// (pkg/cache/scheduler/tas_flavor_snapshot.go, notFitMessage).
func noDomain(message string) bool {
	return strings.Contains(message, "topology ") &&
		(strings.Contains(message, " allows to fit only ") || strings.Contains(message,
			" doesn't allow to fit"))
}

var (
	// "Preempted to accommodate a workload (UID: ..., JobUID: ...) due to ...; preemptor path: ...; preemptee
	// path: ..." (pkg/scheduler/preemption, preemptionMessage).
	preemptorIDs   = regexp.MustCompile(` \(UID: [^)]*\)`)
	preemptorPaths = regexp.MustCompile(`; preemptor path: .*$`)
)

// stableMessage returns a message of Kueue's without parts that change in every attempt to schedule.
func stableMessage(message string) string {
	return oneLine(preemptorPaths.ReplaceAllString(preemptorIDs.ReplaceAllString(message, ""), ""))
}

// oneLine replaces each run of white space with one blank.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

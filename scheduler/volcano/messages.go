package volcano

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Parts of the gang plugin's message (plugins/gang, OnSessionClose; api/job_info.go, FitError): "3/4 tasks in
// gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable; Pending: 1 Schedulable, 3
// Unschedulable. Origin reason is bert-worker-2: 0/8 nodes are unavailable: 8 Insufficient nvidia.com/gpu."
const (
	headEnd     = "; Pending: "
	originStart = "Origin reason is "
)

// stableMessage returns the part of the gang plugin's messages that is the same in two sessions over the same
// cluster. The origin is any failed rank, in the order of a Go map, so its name is dropped. With minAvailable
// below the number of ranks it may be a rank that was not tried at all ("... has already predicated failed,
// skip"), so the entire origin is dropped. The counts by status after "Pending:" repeat the head and are
// dropped.
func stableMessage(g scheduler.Gang, message string) string {
	head, tail, found := strings.Cut(message, headEnd)
	if !found {
		head, tail = message, message
		if i := strings.Index(message, ". "+originStart); i >= 0 {
			head = message[:i]
		}
	}
	_, origin, found := strings.Cut(tail, originStart)
	if !found || g.MinAvailable < g.Ranks() {
		return head
	}
	if _, text, named := strings.Cut(origin, ": "); named {
		origin = text
	}
	short, _, _ := strings.Cut(head, ": ")
	return short + ": " + strings.TrimSuffix(origin, ".")
}

// queueText names the gang's queue.
func queueText(g scheduler.Gang) string {
	if g.Queue == "" {
		return `the default queue`
	}
	return fmt.Sprintf("queue %q", g.Queue)
}

// resourcesText lists resources and their quantities by name.
func resourcesText(l corev1.ResourceList) string {
	if len(l) == 0 {
		return "nothing"
	}
	names := make([]string, 0, len(l))
	for name := range l {
		names = append(names, string(name))
	}
	slices.Sort(names)
	for i, name := range names {
		q := l[corev1.ResourceName(name)]
		names[i] = name + " " + q.String()
	}
	return strings.Join(names, ", ")
}

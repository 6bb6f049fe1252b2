package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Explanation is the one reason why a gang waits. Two explanations are the same if Reason and Object are
// equal; the other fields are wording and numbers.
type Explanation struct {
	// Reason is one CamelCase word.
	Reason string
	// Object is the subject of the reason, as kubectl takes it: "queues.scheduling.volcano.sh/research".
	// Empty means none.
	Object string
	// Message contains the numbers; NextStep is what the user or an admin can do.
	Message, NextStep string
	// Need and Free are the amounts of the resource that is short.
	Need, Free corev1.ResourceList
}

// waitingGang is a gang that waits, with everything that may explain why.
type waitingGang struct {
	gang Gang
	// objects and verdict are what backend reads and has read.
	backend Backend
	objects []client.Object
	verdict Verdict
	cluster ClusterState
	// roles is empty when the state of the cluster is not complete.
	roles []roleCapacity
}

// verdictExplanation returns the scheduler's own reason and message as an explanation.
func verdictExplanation(v Verdict) (Explanation, bool) {
	return Explanation{Reason: v.Reason, Message: v.Message, NextStep: v.NextStep}, v.Reason != ""
}

// count returns a number with the matching form of a noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// About formats a number that may be in the thousands: from 100 on with two digits, "about 1200". The
// statuses of all waiting jobs of a queue contain such numbers, and exact ones would change with each job
// that comes or goes.
func About(n int) string {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	if unit == 1 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("about %d", (n+unit/2)/unit*unit)
}

// joinUnique returns the distinct words, sorted, separated by commas. It sorts words in place.
func joinUnique(words []string) string {
	slices.SortFunc(words, cmp.Compare[string])
	return strings.Join(slices.Compact(words), ", ")
}

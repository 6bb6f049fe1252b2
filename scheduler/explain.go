package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Explanation is the one reason why a gang waits. Two are the same when Reason and Object are: the rest is words and
// numbers.
type Explanation struct {
	// Reason in one CamelCase word.
	Reason string
	// Object that the reason is about, as kubectl takes it: queues.scheduling.volcano.sh/research. Empty: none.
	Object string
	// Message with its numbers and NextStep, what somebody can do about it.
	Message, NextStep string
	// Need and Free of the resource that is short.
	Need, Free corev1.ResourceList
}

// Explainer is a Backend that knows reasons of its own: a queue that is missing or closed, a quota that is used up, an
// admission check that is pending. What is true of any scheduler (nodes, volumes, who waits before) is not its business:
// Explain tells it where the Explainer has nothing to say. Colleagues' dialects without one profit all the same.
type Explainer interface {
	Backend
	// StateKinds are the kinds of the cluster's objects that Explain wants in Facts.Objects. They are watched where the
	// cluster serves them and the Backend's own Kinds.
	StateKinds() []schema.GroupVersionKind
	// Matters says whether a change of such an object may change a reason, and not only numbers: then the jobs that wait
	// are looked at again at once. Either may be nil: the object is new, or gone.
	Matters(before, after client.Object) bool
	// Explain why the gang waits, from its own objects and the facts; false: there is no reason that this dialect knows.
	// It is called only while a job waits.
	Explain(Gang, []client.Object, ClusterState) (Explanation, bool)
}

// question of a gang that waits.
type question struct {
	backend Backend
	gang    Gang
	objects []client.Object
	verdict Verdict
	facts   ClusterState
	rooms   []room
}

// explanations in the order of their rank: the first that holds is told. What nobody but the user can change comes before
// what time may change; the scheduler's own sentence comes last, for it is mostly about what is said better here.
var explanations = []func(*question) (Explanation, bool){
	terminating,
	dialect,
	ownReason,
	claimMissing,
	noNodeMatches,
	noNodeLargeEnough,
	exceedsCluster,
	insufficient,
	claimUnbound,
	behind,
	ownSentence,
}

// Explain why a gang waits. False: nothing is known that would keep it.
func Explain(b Backend, g Gang, objects []client.Object, v Verdict, f ClusterState) (Explanation, bool) {
	c := &question{backend: b, gang: g, objects: objects, verdict: v, facts: f}
	if f.Complete {
		c.rooms = f.rooms(placed(g, v))
	}
	for _, tell := range explanations {
		if e, ok := tell(c); ok {
			return e, true
		}
	}
	return Explanation{}, false
}

// terminating: nothing joins a group that goes, whatever else is true.
func terminating(c *question) (Explanation, bool) {
	if c.verdict.Reason != ReasonTerminating {
		return Explanation{}, false
	}
	return ownSentence(c)
}

func dialect(c *question) (Explanation, bool) {
	if e, ok := c.backend.(Explainer); ok {
		return e.Explain(c.gang, c.objects, c.facts)
	}
	return Explanation{}, false
}

// vague reasons of a Verdict say that a gang waits, not why.
var vague = []string{"", ReasonWaitingInQueue, ReasonNotJudged, ReasonUnschedulable}

// ownReason: where a Verdict itself names a cause (a quota that is used up, a queue that was stopped), the nodes do not matter.
func ownReason(c *question) (Explanation, bool) {
	if slices.Contains(vague, c.verdict.Reason) {
		return Explanation{}, false
	}
	return ownSentence(c)
}

func claimMissing(c *question) (Explanation, bool) {
	for _, claim := range c.facts.Claims {
		if !claim.Exists {
			return Explanation{
				Reason: ReasonVolumeUnbound, Object: "persistentvolumeclaims/" + claim.Name,
				Message:  fmt.Sprintf("volume claim %s does not exist in namespace %s", claim.Name, c.gang.Namespace),
				NextStep: fmt.Sprintf("create claim %s, or name another one in the job's volumes", claim.Name),
			}, true
		}
	}
	return Explanation{}, false
}

// claimUnbound is told only where the nodes have room: a claim whose class waits for its first consumer is unbound for as
// long as its pod waits, for whatever reason.
func claimUnbound(c *question) (Explanation, bool) {
	if !c.verdict.Judged || c.verdict.Reason == "" {
		return Explanation{}, false
	}
	for _, claim := range c.facts.Claims {
		if !claim.Bound {
			return Explanation{
				Reason: ReasonVolumeUnbound, Object: "persistentvolumeclaims/" + claim.Name,
				Message: fmt.Sprintf("the nodes have room, but volume claim %s is not bound", claim.Name),
				NextStep: fmt.Sprintf("kubectl describe pvc %s -n %s says what the volume waits for: a storage class, a provisioner or a matching volume",
					claim.Name, c.gang.Namespace),
			}, true
		}
	}
	return Explanation{}, false
}

// behind: there is room, and others are served first. A scheduler that has tried the gang itself and found no place has
// not held it back for others.
func behind(c *question) (Explanation, bool) {
	ahead := c.facts.Ahead()
	if len(ahead) == 0 || c.verdict.Reason == ReasonUnschedulable {
		return Explanation{}, false
	}
	where := "at " + c.backend.Name()
	if c.facts.Self.Queue != "" {
		where = "in queue " + c.facts.Self.Queue
	}
	return Explanation{
		Reason:   ReasonWaitingBehind,
		Message:  fmt.Sprintf("%s %s before it, the first is %s/%s", count(len(ahead), "job waits", "jobs wait"), where, ahead[0].Namespace, ahead[0].Name),
		NextStep: "it is tried when they have started; a higher priorityClass lets it pass them",
	}, true
}

func ownSentence(c *question) (Explanation, bool) {
	v := c.verdict
	return Explanation{Reason: v.Reason, Message: v.Message, NextStep: v.NextStep}, v.Reason != ""
}

// QuotaReason is the explanation of a quota that a gang does not fit into: for now, or never when it is larger than the
// whole quota. What and object name the quota: "queue research" and "queues.scheduling.volcano.sh/research". False where it
// fits. Nominal and used hold the resources that are limited; holders are who has them, as far as that is known.
func QuotaReason(what, object string, need, nominal, used Amounts, holders func(corev1.ResourceName) []Holder) (Explanation, bool) {
	for _, never := range []bool{true, false} {
		for _, name := range ByImportance(need) {
			limit, limited := nominal[name]
			free := max(0, limit-used[name])
			switch {
			case !limited:
			case never && need[name] > limit:
				return Explanation{
					Reason: ReasonExceedsQuota, Object: object,
					Message: fmt.Sprintf("it can never start: it needs %s and the whole of %s is %s",
						Text(name, need[name]), what, Text(name, limit)),
					NextStep: fmt.Sprintf("ask for at most %s (fewer ranks, fewer per rank, or a smaller minAvailable), or ask the admin to raise %s",
						Text(name, limit), what),
					Need: list(name, need[name]), Free: list(name, free),
				}, true
			case !never && need[name] > free:
				return Explanation{
					Reason: ReasonQuotaExceeded, Object: object,
					Message: fmt.Sprintf("it needs %s; %s has %s free of %s%s",
						Text(name, need[name]), what, Text(name, free), amount(name, limit), HeldBy(name, holders(name))),
					NextStep: fmt.Sprintf("wait until jobs of %s end, or ask the admin to raise it", what),
					Need:     list(name, need[name]), Free: list(name, free),
				}, true
			}
		}
	}
	return Explanation{}, false
}

// HeldBy names who holds most of a resource, to follow a sentence: "; held by team-b/llama (8), team-a/bert (4)".
func HeldBy(name corev1.ResourceName, holders []Holder) string {
	const most = 3
	if len(holders) == 0 {
		return ""
	}
	parts := make([]string, 0, most)
	for _, h := range holders[:min(most, len(holders))] {
		parts = append(parts, fmt.Sprintf("%s/%s (%s)", h.Namespace, h.Name, amount(name, h.Held[name])))
	}
	s := "; held by " + strings.Join(parts, ", ")
	if more := len(holders) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// Text of an amount: "16 nvidia.com/gpu".
func Text(name corev1.ResourceName, n int64) string { return amount(name, n) + " " + string(name) }

func amount(name corev1.ResourceName, n int64) string {
	q := Quantity(name, n)
	return q.String()
}

func list(name corev1.ResourceName, n int64) corev1.ResourceList {
	return corev1.ResourceList{name: Quantity(name, n)}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sortedUnique words, joined.
func sortedUnique(words []string) string {
	slices.SortFunc(words, cmp.Compare[string])
	return strings.Join(slices.Compact(words), ", ")
}

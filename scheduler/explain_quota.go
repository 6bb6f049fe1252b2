package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ExplainQuota explains that a gang does not fit into a quota: never, when it is larger than the quota, or
// for now. It returns false when the gang fits. What and object name the quota: "queue research" and
// "queues.scheduling.volcano.sh/research". Nominal is the limit by resource and used what is taken; heldBy
// returns the clause that names the holders of a resource (see HeldBy).
func ExplainQuota(
	what, object string, need, nominal, used Amounts, heldBy func(corev1.ResourceName) string,
) (Explanation, bool) {
	free := func(name corev1.ResourceName) int64 { return max(0, nominal[name]-used[name]) }
	for _, name := range ByImportance(need) {
		if limit, limited := nominal[name]; limited && need[name] > limit {
			return exceedsQuota(what, object, name, need[name], limit, free(name)), true
		}
	}
	for _, name := range ByImportance(need) {
		if limit, limited := nominal[name]; limited && need[name] > free(name) {
			return quotaExceeded(what, object, name, need[name], limit, free(name), heldBy(name)), true
		}
	}
	return Explanation{}, false
}

func exceedsQuota(what, object string, name corev1.ResourceName, need, limit, free int64) Explanation {
	return Explanation{
		Reason: ReasonExceedsQuota, Object: object,
		Message: fmt.Sprintf("it can never start: it needs %s and the limit of %s is %s",
			FormatAmount(name, need), what, FormatAmount(name, limit)),
		NextStep: fmt.Sprintf("request at most %s (fewer ranks, fewer per rank, or a smaller minAvailable), "+
			"or ask the admin to raise %s", FormatAmount(name, limit), what),
		Need: resourceList(name, need), Free: resourceList(name, free),
	}
}

func quotaExceeded(
	what, object string, name corev1.ResourceName, need, limit, free int64, heldBy string,
) Explanation {
	return Explanation{
		Reason: ReasonQuotaExceeded, Object: object,
		Message: fmt.Sprintf("it needs %s; %s has %s free of %s%s",
			FormatAmount(name, need), what, FormatAmount(name, free), FormatNumber(name, limit),
			heldBy),
		NextStep: fmt.Sprintf("wait until jobs of %s end, or ask the admin to raise it", what),
		Need:     resourceList(name, need), Free: resourceList(name, free),
	}
}

// namedHolders is how many holders an explanation names.
const namedHolders = 3

// HeldBy returns a clause that names the three largest holders of a resource: "; held by team-b/llama (8),
// team-a/bert (4) and 2 more". Holders with hidden names are summed up: "; held by team-a/bert (4) and other
// namespaces (8)". It is empty without holders.
func HeldBy(name corev1.ResourceName, holders []Holder) string {
	var most []Holder
	var more int
	var others int64
	for _, h := range holders { // there may be thousands, so they are not sorted
		if h.Name == "" {
			others += h.Held[name]
			continue
		}
		i, _ := slices.BinarySearchFunc(most, h, func(a, b Holder) int {
			return cmp.Or(cmp.Compare(b.Held[name], a.Held[name]), cmp.Compare(a.Namespace, b.Namespace),
				cmp.Compare(a.Name, b.Name))
		})
		if i < namedHolders {
			most = slices.Insert(most, i, h)
		}
		if i >= namedHolders || len(most) > namedHolders {
			more++
			most = most[:namedHolders]
		}
	}
	var parts []string
	for _, h := range most {
		parts = append(parts,
			fmt.Sprintf("%s/%s (%s)", h.Namespace, h.Name, FormatNumber(name, h.Held[name])))
	}
	var rest []string
	if more > 0 {
		rest = append(rest, About(more)+" more")
	}
	if others > 0 {
		rest = append(rest, fmt.Sprintf("other namespaces (%s)", FormatNumber(name, others)))
	}
	clauses := strings.Join(parts, ", ")
	for _, r := range rest {
		if clauses != "" {
			clauses += " and "
		}
		clauses += r
	}
	if clauses == "" {
		return ""
	}
	return "; held by " + clauses
}

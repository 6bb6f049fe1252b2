//go:build cluster

package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/rights"
)

// usedRights are those that the operators of all scenarios have needed. They run as administrators, so
// nothing else would tell that a right is missing, or that one is granted for nothing.
var usedRights = &rightsInUse{used: rights.Set{}, played: map[string]bool{}}

type rightsInUse struct {
	mu   sync.Mutex
	used rights.Set
	// played are the schedulers whose scenarios have all been played.
	played map[string]bool
}

// wrap notes which right each request needs.
func (r *rightsInUse) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if needed := rights.Needed(req.Method, req.URL); needed != "" {
			r.mu.Lock()
			r.used.Insert(needed)
			r.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

func (r *rightsInUse) hasPlayed(scheduler string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.played[scheduler] = true
}

// notPlayed are rights that the scenarios have no use for, by the end of what they say, and why they are
// granted.
var notPlayed = map[string]string{
	"leases.coordination.k8s.io":         "the operators of scenarios take no lease; TestInstalledOperator* do",
	"tokenreviews.authentication.k8s.io": "reviews have a client of their own",
	"subjectaccessreviews":               "for the metrics' clients, which scenarios do not serve",
	"update trainingjobs/finalizers":     "OwnerReferencesPermissionEnforcement alone asks for it",
	"podmonitors.monitoring.coreos.com":  "the scenarios' clusters serve none",
	"get configmaps":                     "whether nodes are added is asked where nothing else tells",
	"patch events":                       "an event that repeats",
	"patch pods":                         "Volcano is woken only where a claim is bound late (test/reasons)",
	"get pods":                           "only after a create whose answer was lost, or whose name was taken",
	"get services":                       "as for pods",
	"get endpointslices":                 "as for pods",
	"get workloads":                      "as for pods",
	"get podgroups":                      "as for pods, and where another client changed a group",
	"patch services":                     "only where another client has changed it (pkg/controller)",
	"patch endpointslices":               "only where a rank is replaced singly",
	"endpointslices/restricted":          "only OpenShift requires it",
	"patch podgroups":                    "as for services",
	"delete trainingjobs":                "ttlSecondsAfterFinished, which is a story's",
	"create events":                      "of the election of a leader",
	"list ":                              "a first list is streamed as a watch, where the server can do that",
	"elasticquotas.scheduling.x-k8s.io":  "no scenario has one; TestElasticQuotaOnCoscheduling does",
	"resourceclaims":                     "no scenario claims devices; test/reasons reads a template of claims",
	"create secrets":                     "no scenario is of framework mpi; test/e2e has jobs that are",
	"resourcequotas":                     "test/quotas tests reading the cluster's state",
	"limitranges":                        "as for resourcequotas",
}

// problem compares what is granted with what all scenarios have used; "" as long as not all were played.
func (r *rightsInUse) problem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{volcano.Name, native.Name, coscheduling.Name, kueue.Name} {
		if !r.played[name] {
			return ""
		}
	}
	rules, err := rights.Shipped("../../deploy/rbac/role.yaml")
	if err != nil {
		return err.Error()
	}
	granted := rights.Granted(rules)
	var problems []string
	for _, right := range slices.Sorted(slices.Values(granted.Difference(r.used).UnsortedList())) {
		if !explained(right) {
			problems = append(problems, right+": granted, and neither used nor explained")
		}
	}
	for _, right := range slices.Sorted(slices.Values(r.used.Difference(granted).UnsortedList())) {
		if !strings.Contains(right, "groups.fake.") { // the fake scheduler's groups
			problems = append(problems, right+": used, and not granted")
		}
	}
	if len(problems) == 0 {
		return ""
	}
	return fmt.Sprintf("rights of deploy/rbac/role.yaml:\n  %s", strings.Join(problems, "\n  "))
}

func explained(right string) bool {
	for part := range notPlayed {
		if strings.Contains(right, part) {
			return true
		}
	}
	return false
}

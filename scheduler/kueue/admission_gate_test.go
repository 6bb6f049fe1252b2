package kueue_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

const (
	gatedByKey = "kueue.x-k8s.io/admission-gated-by"
	ourGate    = "mlplatform.example.com/reservation"
)

func heldByGate(g *scheduler.Gang) { g.AdmissionGate = true }

func userGates(value string) func(*scheduler.Gang) {
	return func(g *scheduler.Gang) { g.JobAnnotations = map[string]string{gatedByKey: value} }
}

// withCondition sets a condition of the Workload.
func withCondition(kind string, status metav1.ConditionStatus, reason string) func(*kueuev1beta2.Workload) {
	return func(wl *kueuev1beta2.Workload) {
		message := "couldn't assign flavors to pod set worker"
		if reason == kueuev1beta2.WorkloadAdmissionGated {
			message = "Admission is gated by: " + wl.Annotations[gatedByKey]
		}
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, LastTransitionTime: now, Message: message,
		})
	}
}

// TestAdmissionGateAnnotation: the annotation of a Workload, by the job's, by whether it is held, and by what
// Kueue's webhook still accepts for an existing one.
func TestAdmissionGateAnnotation(t *testing.T) {
	quota := withCondition(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionTrue, "QuotaReserved")
	for name, c := range map[string]struct {
		// before is the annotation of the existing Workload; nil: there is none.
		before *string
		job    string
		gate   bool
		edit   func(*kueuev1beta2.Workload)
		want   string
	}{
		"new":                       {nil, "", true, nil, ourGate},
		"new, with the user's":      {nil, "a.com/x, b.com/y", true, nil, "a.com/x, b.com/y," + ourGate},
		"new, blank":                {nil, " ", true, nil, ourGate},
		"new, mode Off":             {nil, "a.com/x, b.com/y", false, nil, "a.com/x, b.com/y"},
		"new, ours in the job":      {nil, ourGate, false, nil, ""},
		"new, both in the job":      {nil, "a.com/x," + ourGate, true, nil, "a.com/x," + ourGate},
		"held":                      {new(ourGate), "", true, nil, ourGate},
		"no longer held":            {new(ourGate), "", false, nil, ""},
		"no longer held, user's":    {new("a.com/x," + ourGate), "a.com/x", false, nil, "a.com/x"},
		"the user removes one":      {new("a.com/x," + ourGate), "", true, nil, ourGate},
		"held again":                {new(""), "", true, nil, ""},
		"held again, user's":        {new("a.com/x"), "a.com/x", true, nil, "a.com/x"},
		"ignored, and it has quota": {new(ourGate), "", true, quota, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gang(userGates(c.job))
			if c.before != nil {
				wl := only(t, gang())
				wl.Annotations[gatedByKey] = *c.before
				if c.edit != nil {
					c.edit(wl)
				}
				g.Existing = []client.Object{wl}
			}
			g.AdmissionGate = c.gate
			if got := only(t, g).Annotations[gatedByKey]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestAdmissionGateOfOthers: the operator does not gate Workloads of other makers, nor gangs that another
// cluster runs.
func TestAdmissionGateOfOthers(t *testing.T) {
	prebuilt := func(g *scheduler.Gang) {
		g.JobAnnotations = map[string]string{kueue.PrebuiltWorkload: "made-for-it"}
	}
	for name, change := range map[string]func(*scheduler.Gang){
		"prebuilt": prebuilt, "dispatched": func(g *scheduler.Gang) { g.Dispatched = true },
	} {
		if got := only(t, gang(heldByGate, change)).Annotations[gatedByKey]; got != "" {
			t.Errorf("%s: it is gated by %q", name, got)
		}
	}
}

// TestAdmissionGateKeepsName: the gate has no part in the name and the pod sets by which the operator finds
// the Workload of a gang.
func TestAdmissionGateKeepsName(t *testing.T) {
	with, without := only(t, gang(heldByGate)), only(t, gang())
	if with.Name != without.Name {
		t.Errorf("its name is %s with the gate, and %s without", with.Name, without.Name)
	}
}

// TestAdmissionGate reads the state of the gate and what the job's status shows for it.
func TestAdmissionGate(t *testing.T) {
	const (
		quota   = kueuev1beta2.WorkloadQuotaReserved
		blocked = kueuev1beta2.WorkloadBlockedOnPreemptionGates
		gated   = kueuev1beta2.WorkloadAdmissionGated
	)
	type edit = func(*kueuev1beta2.Workload)
	inactive := func(wl *kueuev1beta2.Workload) { wl.Spec.Active = new(bool) }
	stale := func(wl *kueuev1beta2.Workload) { // Kueue does not update the message when some gates are removed
		withCondition(quota, "False", gated)(wl)
		wl.Annotations[gatedByKey] = "a.com/x"
	}
	for name, c := range map[string]struct {
		user string
		edit edit
		want scheduler.Gate
		// notAdmissible, and parts of the verdict.
		notAdmissible   bool
		reason, message string
	}{
		"new": {
			"", nil, scheduler.GateClosed, false, "WaitingBehind", "16 waiting gangs of its ClusterQueue go first",
		},
		"gated": {
			"", withCondition(quota, "False", gated), scheduler.GateBlocks, false, "WaitingBehind", "does not let",
		},
		"queue stopped": {
			"", withCondition(quota, "False", "Inadmissible"), scheduler.GateClosed, false, "WaitingBehind", "",
		},
		"ignored, waits": {
			"", withCondition(quota, "False", "Pending"), scheduler.GateIgnored, false, "WaitingInQueue", "",
		},
		"ignored, waits for quota": {
			"", withCondition(quota, "False", "WaitingForQuota"), scheduler.GateIgnored, false, "WaitingInQueue", "",
		},
		"ignored, would preempt": {
			"", withCondition(blocked, "True", "Blocked"), scheduler.GateIgnored, false, "NotJudged", "",
		},
		"user's gate": {
			"a.com/x", withCondition(quota, "False", gated), scheduler.GateBlocks, true, "AdmissionGated",
			"Admission is gated by: a.com/x",
		},
		"user's gate is left": {"a.com/x", stale, "", true, "AdmissionGated", "Admission is gated by: a.com/x"},
		"deactivated":         {"", inactive, scheduler.GateClosed, true, "Deactivated", ""},
		"open": {
			"", func(wl *kueuev1beta2.Workload) { delete(wl.Annotations, gatedByKey) }, "", false, "NotJudged", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gang(userGates(c.user), heldByGate)
			wl := only(t, g)
			if c.edit != nil {
				c.edit(wl)
			}
			contest := contestOf(t, wl)
			if contest.AdmissionGate != c.want || contest.NotAdmissible != c.notAdmissible {
				t.Errorf("the gate is %q, not admissible: %t; want %q, %t",
					contest.AdmissionGate, contest.NotAdmissible, c.want, c.notAdmissible)
			}
			v := kueue.New(kueue.Options{}).Read(g, []client.Object{wl})
			if v.Admission != scheduler.Hold || v.Reason != c.reason || !strings.Contains(v.Message, c.message) ||
				strings.Contains(v.Message, ourGate) {
				t.Errorf("the verdict is %+v", v)
			}
		})
	}
}

// TestAdmissionGateIgnoredWithQuota: a Kueue whose feature is off admits a gated Workload.
func TestAdmissionGateIgnoredWithQuota(t *testing.T) {
	wl, _ := readWorkload(t, "preempted")
	wl.Annotations = map[string]string{gatedByKey: ourGate}
	if c := contestOf(t, wl); c.AdmissionGate != scheduler.GateIgnored {
		t.Errorf("the gate is %q", c.AdmissionGate)
	}
}

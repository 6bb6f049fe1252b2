package kueue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

func TestRead(t *testing.T) {
	on := admission("h100", 0)
	pods, none := true, false
	// The verdict as "Admission Reason: Message", and a word of the next step.
	cases := map[string]struct {
		reason     string
		pods       bool
		written    []func(*kueuev1beta2.Workload, int)
		want, step string
	}{
		"no condition": {
			"a queue that does not exist may never be judged", none, nil,
			`Hold NotJudged: Kueue has not judged the Workload; it names LocalQueue "research"`,
			"describe localqueues",
		},
		"over quota": {
			"Kueue's message", none, written(noQuota),
			"Hold QuotaExceeded: couldn't assign flavors to pod set worker: insufficient unused quota " +
				"for nvidia.com/gpu in flavor h100, 4 more needed",
			"quota is in use",
		},
		"no such queue": {
			"Kueue's word", none,
			written(
				cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Inadmissible",
					"LocalQueue research doesn't exist"),
			),
			"Hold Inadmissible: LocalQueue research doesn't exist", "describe localqueues",
		},
		"no rack is large enough": {
			"there is quota", none,
			written(
				cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending",
					`couldn't assign flavors to pod set worker: topology "racks" allows to fit only 4 `+
						`out of 5 pod(s)`),
			),
			`Hold InsufficientResources: couldn't assign flavors to pod set worker: topology "racks" ` +
				`allows to fit only 4 out of 5 pod(s)`,
			"podset-preferred-topology",
		},
		"no rack at all": {
			"there is quota", none,
			written(
				cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending",
					`couldn't assign flavors to pod set worker: topology "racks" doesn't allow to fit `+
						`any of 5 pod(s)`),
			),
			`Hold InsufficientResources: couldn't assign flavors to pod set worker: topology "racks" ` +
				`doesn't allow to fit any of 5 pod(s)`,
			"podset-preferred-topology",
		},
		"quota and rack": {
			"quota comes first", none,
			written(
				cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending",
					`couldn't assign flavors to pod set worker: insufficient unused quota for `+
						`nvidia.com/gpu in flavor h100, 4 more needed, topology "racks" allows to fit `+
						`only 4 out of 5 pod(s)`),
			),
			`Hold QuotaExceeded: couldn't assign flavors to pod set worker: insufficient unused quota ` +
				`for nvidia.com/gpu in flavor h100, 4 more needed, topology "racks" allows to fit only ` +
				`4 out of 5 pod(s)`,
			"describe localqueues",
		},
		"reserved is not admitted": {
			"a check may still reject it", none,
			written(reserved, on, check(kueuev1beta2.CheckStatePending, "waiting for nodes")),
			"Hold AdmissionCheckPending: quota is reserved; admission check provision is Pending " +
				"(waiting for nodes)",
			"describe workloads",
		},
		"pods without admission": {
			"they use no quota", pods, written(noQuota),
			"Yield QuotaExceeded: couldn't assign flavors to pod set worker: insufficient unused quota " +
				"for nvidia.com/gpu in flavor h100, 4 more needed",
			"",
		},
		"preempted": {
			"without the ids of the preemptor", pods, written(reserved, admitted, on, preempted),
			"Yield Preempted: Preempted to accommodate a workload due to prioritization in the ClusterQueue",
			"",
		},
		"preempted without pods": {
			"the quota is not released yet", none, written(reserved, admitted, on, preempted),
			"Hold Preempted: Preempted to accommodate a workload due to prioritization in the ClusterQueue",
			"",
		},
		"evicted before, let in": {
			"Kueue clears the condition when it reserves again", none,
			written(cond(kueuev1beta2.WorkloadEvicted, metav1.ConditionFalse, "QuotaReserved", "x"), reserved,
				admitted, on),
			"Go : ", "",
		},
		"queued after preemption": {
			"what it waits for now", none, written(preempted, noQuota),
			"Hold QuotaExceeded: couldn't assign flavors to pod set worker: insufficient unused quota " +
				"for nvidia.com/gpu in flavor h100, 4 more needed",
			"",
		},
		"handed back": {
			"Kueue has not judged it since", none, written(preempted, handedBack),
			"Hold Preempted: Preempted to accommodate a workload due to prioritization in the ClusterQueue",
			"",
		},
		"being deleted": {
			"it loses its place", none, written(deleting, reserved, admitted, on),
			"Hold Terminating: the gang's Workload is being deleted; the operator then creates it again", "",
		},
		"being deleted with pods": {
			"they delay its deletion", pods, written(deleting, reserved, admitted, on),
			"Yield Terminating: the gang's Workload is being deleted; the operator stops the ranks " +
				"and queues the gang again",
			"",
		},
		"two checks": {
			"in the order of their names", none,
			written(reserved, on, check(kueuev1beta2.CheckStatePending, ""), secondCheck),
			"Hold AdmissionCheckPending: quota is reserved; admission check budget is Retry (too expensive), " +
				"provision is Pending",
			"",
		},
		"deactivated": {
			"only a user can activate it", none,
			written(deactivated,
				cond(kueuev1beta2.WorkloadEvicted, metav1.ConditionTrue,
					"DeactivatedDueToRequeuingLimitExceeded",
					"The workload is deactivated due to exceeding the maximum number of re-queuing retries")),
			"Hold Deactivated: The workload is deactivated due to exceeding the maximum number of " +
				"re-queuing retries",
			`{"spec":{"active":true}}`,
		},
		"deactivated with pods": {
			"they must end", pods, written(deactivated, reserved, admitted, on),
			"Yield Deactivated: The workload is deactivated", "",
		},
		"flavour gone": {
			"the nodes for the pods are unknown", none, written(reserved, admitted, admission("gone", 0)),
			`Hold ResourceFlavorMissing: the gang is admitted on ResourceFlavor "gone", which does not exist`,
			"get resourceflavors",
		},
		"finished by others": {
			"no quota any more", pods,
			written(reserved, admitted, on,
				cond(kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, "OwnerNotFound", "gone")),
			"Yield WorkloadFinished: the gang's Workload is declared finished (OwnerNotFound: gone), so " +
				"it holds no quota",
			"delete workloads",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gang(func(g *scheduler.Gang) { g.HasPods = tc.pods })
			v := read(t, kueue.New(kueue.Options{}), g, tc.written...)
			if got := string(v.Admission) + " " + v.Reason + ": " + v.Message; got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if !strings.Contains(v.NextStep, tc.step) {
				t.Errorf("%s: the next step %q does not name %q", tc.reason, v.NextStep, tc.step)
			}
		})
	}
}

func deleting(wl *kueuev1beta2.Workload, _ int) { wl.DeletionTimestamp = &now }

func secondCheck(wl *kueuev1beta2.Workload, _ int) {
	wl.Status.AdmissionChecks = append(wl.Status.AdmissionChecks, kueuev1beta2.AdmissionCheckState{
		Name: "budget", State: kueuev1beta2.CheckStateRetry, Message: "too expensive",
	})
}

func read(
	t *testing.T, b kueue.Backend, g scheduler.Gang, written ...func(*kueuev1beta2.Workload, int),
) scheduler.Verdict {
	t.Helper()
	objs, err := b.Objects(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range written {
		write(objs[0].(*kueuev1beta2.Workload), 1)
	}
	return b.Read(g, objs)
}

func TestReadOfPodsWithoutAWorkload(t *testing.T) {
	v := kueue.New(kueue.Options{}).Read(gang(hasPods), nil)
	if v.Admission != scheduler.Yield || v.Reason != kueue.ReasonWorkloadGone {
		t.Errorf("got %+v: they use no quota", v)
	}
}

// TestReadAsSubmitted: if a gang's spec has become invalid, its Workload is found by name. Otherwise a typo
// in a label would look like a deleted Workload, and end the gang.
func TestReadAsSubmitted(t *testing.T) {
	b := kueue.New(kueue.Options{})
	g := gang(hasPods)
	objs, err := b.Objects(g)
	if err != nil {
		t.Fatal(err)
	}
	wl := objs[0].(*kueuev1beta2.Workload)
	for _, write := range written(reserved, admitted, admission("h100", 0)) {
		write(wl, 1)
	}
	g.Roles[0].Replicas++
	if v := b.Read(g, objs); v.Admission != scheduler.Yield {
		t.Fatalf("by its new pod sets: %s, want Yield; the test would prove nothing", v.Admission)
	}
	g.Submitted = wl.Name
	if v := b.Read(g, objs); v.Admission != scheduler.Go {
		t.Errorf("by the name it was submitted as: %+v, want Go", v)
	}
	preempted := cond(kueuev1beta2.WorkloadEvicted, metav1.ConditionTrue, "Preempted", "to make room")
	preempted(wl, 1)
	if v := b.Read(g, objs); v.Admission != scheduler.Yield || v.Reason != "Preempted" {
		t.Errorf("evicted: %+v, want Yield, Preempted", v)
	}
	status := scheduler.GangStatus{Now: now}
	if writes := b.SyncStatus(g, status, objs); len(writes) != 1 {
		t.Errorf("the last pod is deleted: %d writes, want the one that releases the quota", len(writes))
	}
}

func TestPartialAdmission(t *testing.T) {
	g := gang(func(g *scheduler.Gang) { g.Roles[0].MinAvailable, g.MinAvailable = 2, 2 })
	v := read(t, kueue.New(kueue.Options{}), g, reserved, admitted, admission("h100", 1))
	diff := cmp.Diff(map[string]int32{"Worker": 3}, v.Admitted)
	if v.Admission != scheduler.Go || diff != "" {
		t.Errorf("%s (-want +got):\n%s", v.Admission, diff)
	}
}

// TestBinderVerdictOnceAdmitted: for an admitted gang the binder's verdict counts, with Kueue's placement.
func TestBinderVerdictOnceAdmitted(t *testing.T) {
	b := kueue.New(kueue.Options{Binder: native.New(native.Options{})})
	g := gang(hasPods)
	v := read(t, b, g, reserved, admitted, admission("h100", 0))
	if v.Admission != scheduler.Go || v.Judged ||
		v.Placement["Worker"].NodeSelector["example.com/gpu"] != "h100" {
		t.Errorf("admitted: got %+v, want no message and Kueue's placement", v)
	}
	if v := read(t, b, gang(), noQuota); v.Admission != scheduler.Hold {
		t.Errorf("over quota: got %s, the binder has no verdict", v.Admission)
	}
}

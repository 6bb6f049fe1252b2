package kueue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

func TestContract(t *testing.T) {
	for name, b := range backends() {
		t.Run(name, func(t *testing.T) { schedulertest.Run(t, b, dialect()) })
	}
}

func TestGolden(t *testing.T) { schedulertest.GoldenOf(t, kueue.New(kueue.Options{}), dialect()) }

func backends() map[string]kueue.Backend {
	return map[string]kueue.Backend{
		"default binder": kueue.New(kueue.Options{}),
		"native binder":  kueue.New(kueue.Options{Binder: native.New(native.Options{})}),
		"coscheduling":   kueue.New(kueue.Options{Binder: coscheduling.New(coscheduling.Options{})}),
	}
}

// cluster returns the cluster objects that a gang gets.
func cluster() []client.Object {
	return []client.Object{
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000},
		&kueuev1beta2.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "production"}, Value: 500},
		&kueuev1beta2.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "experiment"}, Value: 100},
		&kueuev1beta2.ResourceFlavor{
			ObjectMeta: metav1.ObjectMeta{Name: "h100"},
			Spec: kueuev1beta2.ResourceFlavorSpec{
				NodeLabels: map[string]string{"example.com/gpu": "h100"},
				Tolerations: []corev1.Toleration{
					{
						Key: "example.com/gpu", Operator: corev1.TolerationOpExists,
						Effect: corev1.TaintEffectNoSchedule,
					},
				},
			},
		},
		&kueuev1beta2.ResourceFlavor{
			ObjectMeta: metav1.ObjectMeta{Name: "default"},
			Spec: kueuev1beta2.ResourceFlavorSpec{
				NodeLabels: map[string]string{"example.com/pool": "training"},
				Tolerations: []corev1.Toleration{
					{Key: "example.com/pool", Operator: corev1.TolerationOpExists},
				},
			},
		},
	}
}

func prepare(g *scheduler.Gang) {
	if g.Queue == "" {
		g.Queue = "research"
	}
	g.JobLabels = map[string]string{kueue.QueueLabel: g.Queue}
	g.ClusterObjects = cluster()
}

func gang(changes ...func(*scheduler.Gang)) scheduler.Gang {
	g := schedulertest.Gang()
	prepare(&g)
	for _, change := range changes {
		change(&g)
	}
	return g
}

func hasPods(g *scheduler.Gang) { g.HasPods = true }

func dialect() schedulertest.Dialect {
	unsupported := func(name, path string, change func(*scheduler.Gang)) schedulertest.UnsupportedGang {
		return schedulertest.UnsupportedGang{Name: name, Path: path, Change: change}
	}
	return schedulertest.Dialect{
		Prepare: prepare,
		MinMember: func(o client.Object) int32 {
			var n int32
			for _, set := range o.(*kueuev1beta2.Workload).Spec.PodSets {
				if set.MinCount != nil {
					n += *set.MinCount
				} else {
					n += set.Count
				}
			}
			return n
		},
		GroupOf: func(p *corev1.Pod) string { return p.Annotations[kueuev1beta2.WorkloadAnnotation] },
		UnsupportedGangs: []schedulertest.UnsupportedGang{
			unsupported("invalid queue name", scheduler.PathQueue, func(g *scheduler.Gang) {
				g.Queue = "Research!"
			}),
			unsupported("resources for the gang", scheduler.PathMinResources, func(g *scheduler.Gang) {
				g.MinResourcesGiven = true
			}),
			unsupported("a role of which no rank is needed", scheduler.PathMinAvailable, func(g *scheduler.Gang) {
				g.Roles = append(g.Roles, scheduler.Role{Name: "Evaluator", Replicas: 1})
			}),
			unsupported("fewer than all ranks of two roles", scheduler.PathMinAvailable, func(g *scheduler.Gang) {
				g.Roles = []scheduler.Role{
					{Name: "PS", Replicas: 2, MinAvailable: 1},
					{Name: "Worker", Replicas: 3, MinAvailable: 1},
				}
				g.MinAvailable = 2
			}),
			unsupported("more roles than a Workload has pod sets", "spec.replicaSpecs", func(g *scheduler.Gang) {
				for i := range 18 {
					g.Roles = append(g.Roles,
						scheduler.Role{Name: fmt.Sprintf("Extra%d", i), Replicas: 1, MinAvailable: 1})
				}
				g.MinAvailable += 18
			}),
		},
		GroupStates: groupStates(),
	}
}

// groupState puts conditions onto a Workload as Kueue would.
func groupState(name string, writes ...func(wl *kueuev1beta2.Workload, n int)) schedulertest.GroupState {
	return schedulertest.GroupState{Name: name, Write: func(o client.Object, n int) {
		for _, write := range writes {
			write(o.(*kueuev1beta2.Workload), n)
		}
	}}
}

func invites(s schedulertest.GroupState) schedulertest.GroupState {
	s.Invites = true
	return s
}

func cond(
	kind string, status metav1.ConditionStatus, reason, message string,
) func(*kueuev1beta2.Workload, int) {
	return func(wl *kueuev1beta2.Workload, n int) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason,
			Message:            strings.ReplaceAll(message, "%n", fmt.Sprint(n)),
			LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 1, 12, 0, n, 0, time.UTC)),
		})
	}
}

func admission(flavor string, missing int32) func(*kueuev1beta2.Workload, int) {
	return func(wl *kueuev1beta2.Workload, _ int) {
		wl.Status.Admission = &kueuev1beta2.Admission{ClusterQueue: "gpus"}
		for i, set := range wl.Spec.PodSets {
			count := set.Count
			if i == len(wl.Spec.PodSets)-1 {
				count -= missing
			}
			admission := wl.Status.Admission
			admission.PodSetAssignments = append(admission.PodSetAssignments, kueuev1beta2.PodSetAssignment{
				Name: set.Name, Count: &count,
				Flavors: map[corev1.ResourceName]kueuev1beta2.ResourceFlavorReference{
					"cpu": "default", "memory": "default",
					"nvidia.com/gpu": kueuev1beta2.ResourceFlavorReference(flavor),
				},
			})
		}
	}
}

var (
	reserved = cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionTrue, "QuotaReserved",
		"Quota reserved in ClusterQueue gpus")
	admitted = cond(kueuev1beta2.WorkloadAdmitted, metav1.ConditionTrue, "Admitted",
		"The workload is admitted")
	preempted = cond(kueuev1beta2.WorkloadEvicted, metav1.ConditionTrue, "Preempted",
		"Preempted to accommodate a workload (UID: uid-%n, JobUID: job-%n) due to prioritization in the "+
			"ClusterQueue; preemptor path: /gpus; preemptee path: /gpus")
	noQuota = cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending",
		"couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in "+
			"flavor h100, 4 more needed")
)

func check(state kueuev1beta2.CheckState, message string) func(*kueuev1beta2.Workload, int) {
	return func(wl *kueuev1beta2.Workload, n int) {
		wl.Status.AdmissionChecks = append(wl.Status.AdmissionChecks, kueuev1beta2.AdmissionCheckState{
			Name: "provision", State: state, Message: message,
			LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 1, 12, 0, n, 0, time.UTC)),
		})
	}
}

// handedBack releases the quota with the eviction's message, as SyncStatus does.
func handedBack(wl *kueuev1beta2.Workload, n int) {
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueuev1beta2.WorkloadEvicted)
	cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending", evicted.Message)(wl, n)
}

func deactivated(wl *kueuev1beta2.Workload, _ int) { wl.Spec.Active = new(false) }

func groupStates() []schedulertest.GroupState {
	on := admission("h100", 0)
	return []schedulertest.GroupState{
		groupState("nothing"),
		groupState("no quota", noQuota),
		groupState("no such queue",
			cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Inadmissible",
				"LocalQueue research doesn't exist")),
		groupState("reserved, not admitted", reserved, on),
		groupState("a check is open", reserved, on,
			check(kueuev1beta2.CheckStatePending, "waiting for\nnodes")),
		invites(groupState("admitted", reserved, admitted, on)),
		invites(
			groupState("admitted, ready", reserved, admitted, on,
				cond(kueuev1beta2.WorkloadPodsReady, metav1.ConditionTrue, "Started",
					"All pods reached readiness and the workload is running")),
		),
		groupState("admitted on a deleted flavour", reserved, admitted, admission("gone", 0)),
		groupState("preempted", reserved, admitted, on, preempted),
		groupState("preempted, handed back", preempted, handedBack),
		groupState("preempted, waiting again", preempted, noQuota),
		groupState("timed out", reserved, admitted, on,
			cond(kueuev1beta2.WorkloadEvicted, metav1.ConditionTrue, "PodsReadyTimeout",
				"Exceeded the PodsReady timeout team-a/bert")),
		groupState("stopped", reserved, admitted, on,
			cond(kueuev1beta2.WorkloadEvicted, metav1.ConditionTrue, "LocalQueueStopped",
				"The LocalQueue is stopped")),
		groupState("deactivated", deactivated),
		groupState("finished by another controller",
			cond(kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, "OutOfSync",
				"The prebuilt workload is out of sync with its user job")),
		groupState("a condition of a later Kueue",
			cond("Hibernating", metav1.ConditionTrue, "Cold", "it is winter")),
	}
}

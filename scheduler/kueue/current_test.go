package kueue_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

const (
	inPlace  = "updated in place"
	stays    = "stays as it is"
	replaced = "replaced"
)

// TestEdits: the effect of a job's edit on its Workload, while it waits, while it has quota, and while its
// ranks run. Kueue updates the Workload of a suspended job, and its webhook refuses most edits of a running
// one (jobframework, updateWorkloadToMatchJob and ValidateJobOnUpdate).
func TestEdits(t *testing.T) {
	withClass := func(name string) func(*scheduler.Gang) {
		return func(g *scheduler.Gang) { g.JobLabels[kueue.PriorityClassLabel] = name }
	}
	withLimit := func(seconds string) func(*scheduler.Gang) {
		return func(g *scheduler.Gang) { g.JobLabels[kueue.MaxExecTimeLabel] = seconds }
	}
	nothing := func(*scheduler.Gang) {}
	for name, tc := range map[string]struct {
		before, edit               func(*scheduler.Gang)
		waiting, reserved, running string
	}{
		"nothing":          {nothing, nothing, stays, stays, stays},
		"the next attempt": {nothing, func(g *scheduler.Gang) { g.Attempt = 2 }, stays, stays, stays},
		"a recall": {nothing, func(g *scheduler.Gang) {
			g.Attempt, g.Recalls = 2, 1
		}, replaced, replaced, replaced},
		"the attempt after a recall": {func(g *scheduler.Gang) {
			g.Attempt, g.Recalls = 2, 1
		}, func(g *scheduler.Gang) {
			g.Attempt, g.Recalls = 3, 1
		}, stays, stays, stays},
		"another command": {nothing, func(g *scheduler.Gang) {
			g.Roles[0].Template.Spec.Containers[0].Command = []string{"other"}
		}, stays, stays, stays},
		"ranks": {nothing, func(g *scheduler.Gang) {
			g.Roles[0].Replicas = 5
		}, inPlace, replaced, replaced},
		"queue": {nothing, func(g *scheduler.Gang) {
			g.Queue = "product"
		}, inPlace, replaced, stays},
		"a class is added":   {nothing, withClass("production"), inPlace, stays, stays},
		"a class is removed": {withClass("production"), nothing, inPlace, stays, stays},
		"another class":      {withClass("production"), withClass("experiment"), inPlace, inPlace, inPlace},
		"a deleted class":    {withClass("production"), without(withClass("production")), stays, stays, stays},
		"a limit is added":   {nothing, withLimit("60"), inPlace, stays, stays},
		"a limit is changed": {withLimit("60"), withLimit("90"), inPlace, stays, stays},
		"a topology": {nothing, func(g *scheduler.Gang) {
			g.JobAnnotations = map[string]string{kueuev1beta2.PodSetRequiredTopologyAnnotation: "example.com/rack"}
		}, inPlace, replaced, stays},
		"a default class appears": {nothing, func(g *scheduler.Gang) {
			g.ClusterObjects = append(g.ClusterObjects, &schedulingv1.PriorityClass{
				ObjectMeta: metav1.ObjectMeta{Name: "usual"}, GlobalDefault: true, Value: 7,
			})
		}, stays, stays, stays},
		"the class's number changes": {withClass("production"), func(g *scheduler.Gang) {
			withClass("production")(g)
			g.ClusterObjects = []client.Object{&kueuev1beta2.WorkloadPriorityClass{
				ObjectMeta: metav1.ObjectMeta{Name: "production"}, Value: 900,
			}}
		}, stays, stays, stays},
	} {
		for state, want := range map[string]string{
			"waiting": tc.waiting, "reserved": tc.reserved, "running": tc.running,
		} {
			t.Run(name+"/"+state, func(t *testing.T) {
				before := only(t, gang(tc.before))
				stored := asStored(t, before)
				if state != "waiting" {
					reserved(stored, 1)
					admission("h100", 0)(stored, 1)
				}
				after := only(t, gang(tc.edit, func(g *scheduler.Gang) {
					g.HasPods, g.Existing = state == "running", []client.Object{stored}
				}))
				got := inPlace
				switch {
				case after.Name != before.Name:
					got = replaced
				case equalSpecs(before, after):
					got = stays
				}
				if got != want {
					t.Errorf("it is %s, want %s:\n%+v\n%+v", got, want, before.Spec, after.Spec)
				}
			})
		}
	}
}

// TestCurrent: which of several Workloads stands for the gang.
func TestCurrent(t *testing.T) {
	resized := func(g *scheduler.Gang) { g.Roles[0].Replicas, g.Roles[0].MinAvailable, g.MinAvailable = 5, 5, 5 }
	made := func(name string, age int, change func(*scheduler.Gang), states ...func(*kueuev1beta2.Workload, int),
	) client.Object {
		wl := asStored(t, only(t, gang(change)))
		wl.Name, wl.CreationTimestamp = name, metav1.NewTime(now.Add(time.Duration(-age)*time.Hour))
		for _, state := range states {
			state(wl, 1)
		}
		return wl
	}
	nothing := func(*scheduler.Gang) {}
	moved := func(g *scheduler.Gang) { g.Queue = "product" }
	leaving := func(wl *kueuev1beta2.Workload, _ int) { wl.DeletionTimestamp = &now }
	fresh := only(t, gang()).Name
	quota := admission("h100", 0)
	for name, tc := range map[string]struct {
		reason string
		exist  []client.Object
		want   string
	}{
		"none": {"a new one", nil, fresh},
		"two that wait": {"the older has the better place",
			[]client.Object{made("younger", 1, nothing), made("older", 2, resized)}, "older"},
		"one that waits and one with quota": {"quota counts before age",
			[]client.Object{made("older", 2, nothing), made("reserved", 1, nothing, reserved, quota)}, "reserved"},
		"one with quota for another size": {"it cannot be changed",
			[]client.Object{made("small", 2, resized, reserved, quota)}, fresh},
		"one with quota for another size, and its successor": {"the successor",
			[]client.Object{made("small", 2, resized, reserved, quota), made("next", 1, nothing)}, "next"},
		"one with quota in another queue": {"the job was moved before it started",
			[]client.Object{made("elsewhere", 2, moved, reserved, quota)}, fresh},
		"one of another queue that was evicted": {"it keeps its place, and moves once it has no quota",
			[]client.Object{made("elsewhere", 2, moved, reserved, quota, preempted)}, "elsewhere"},
		"one that is being deleted": {"its successor waits until it is gone",
			[]client.Object{made("leaving", 2, resized, leaving)}, "leaving"},
		"one that is being deleted, and its successor": {"the successor",
			[]client.Object{made("leaving", 2, nothing, leaving), made("next", 1, nothing)}, "next"},
		"one that was declared finished": {"it reports that it is finished",
			[]client.Object{made("done", 2, nothing,
				cond(kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, "ByHand", "x"))}, "done"},
		"one that finished at another size": {"a changed job is queued again",
			[]client.Object{made("done", 2, resized,
				cond(kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, "ByHand", "x"))}, fresh},
	} {
		if got := kueue.WorkloadName(gang(func(g *scheduler.Gang) { g.Existing = tc.exist })); got != tc.want {
			t.Errorf("%s: %s: got %s, want %s", name, tc.reason, got, tc.want)
		}
	}
	// The Workload was made for 4 ranks, changed to 5 while it waited, and got quota. Now the job has 4
	// again.
	taken := kueue.WorkloadName(gang(func(g *scheduler.Gang) {
		g.Existing = []client.Object{made(fresh, 1, resized, reserved, quota)}
	}))
	if taken == fresh {
		t.Error("the next Workload has the name of the one that must be deleted")
	}
}

// TestWorkloadWithoutHash: a Workload without a hash, such as one of an old operator, is recognized by its
// pod sets.
func TestWorkloadWithoutHash(t *testing.T) {
	wl := asStored(t, only(t, gang()))
	wl.Annotations = nil
	reserved(wl, 1)
	for replicas, want := range map[int32]bool{4: true, 5: false} {
		got := kueue.WorkloadName(gang(func(g *scheduler.Gang) {
			g.Roles[0].Replicas, g.Existing, g.HasPods = replicas, []client.Object{wl}, true
		}))
		if (got == wl.Name) != want {
			t.Errorf("%d ranks: its Workload is %s, of 4 ranks there is %s", replicas, got, wl.Name)
		}
	}
}

// without deletes the job's class from the cluster.
func without(change func(*scheduler.Gang)) func(*scheduler.Gang) {
	return func(g *scheduler.Gang) {
		change(g)
		g.ClusterObjects = slices.DeleteFunc(g.ClusterObjects, func(o client.Object) bool {
			return o.GetName() == g.JobLabels[kueue.PriorityClassLabel]
		})
	}
}

// only returns the Workload that the backend requests.
func only(t *testing.T, g scheduler.Gang) *kueuev1beta2.Workload {
	t.Helper()
	objs, err := kueue.New(kueue.Options{}).Objects(g)
	if err != nil {
		t.Fatal(err)
	}
	return objs[0].(*kueuev1beta2.Workload)
}

// asStored returns a Workload as the API server would return it, with its quantities in their canonical form.
func asStored(t *testing.T, wl *kueuev1beta2.Workload) *kueuev1beta2.Workload {
	t.Helper()
	text, err := json.Marshal(wl)
	stored := &kueuev1beta2.Workload{}
	if err == nil {
		err = json.Unmarshal(text, stored)
	}
	if err != nil {
		t.Fatal(err)
	}
	stored.UID, stored.ResourceVersion = "workload", "7"
	return stored
}

func equalSpecs(a, b *kueuev1beta2.Workload) bool {
	return cmp.Equal(a.Spec, b.Spec) && cmp.Equal(a.Annotations, b.Annotations)
}

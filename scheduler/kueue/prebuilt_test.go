package kueue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

func prebuilt(g *scheduler.Gang) {
	g.JobAnnotations = map[string]string{kueue.PrebuiltWorkload: "made-for-bert"}
}

// prebuiltWorkload returns a Workload that another controller made for a gang, with complete containers, and
// the job as its controller.
func prebuiltWorkload(t *testing.T, change func(*kueuev1beta2.Workload)) *kueuev1beta2.Workload {
	t.Helper()
	objs, err := kueue.New(kueue.Options{}).Objects(gang())
	if err != nil {
		t.Fatal(err)
	}
	wl := objs[0].(*kueuev1beta2.Workload)
	wl.Name = "made-for-bert"
	wl.Spec.PodSets[0].Template.Spec.Containers[0].Command = []string{"train"}
	if change != nil {
		change(wl)
	}
	return wl
}

func TestPrebuiltWorkload(t *testing.T) {
	controller := func(refs ...metav1.OwnerReference) func(*kueuev1beta2.Workload) {
		return func(wl *kueuev1beta2.Workload) { wl.OwnerReferences = refs }
	}
	another := metav1.OwnerReference{
		APIVersion: "batch/v1", Kind: "Job", Name: "other", UID: "other", Controller: new(true),
	}
	spec := func(change func(*kueuev1beta2.PodSet)) func(*kueuev1beta2.Workload) {
		return func(wl *kueuev1beta2.Workload) { change(&wl.Spec.PodSets[0]) }
	}
	const outOfSync = `Hold OutOfSync: the prebuilt Workload "made-for-bert" is out of sync with the job: `
	const finish = "status kueue-admission: Finished=True OutOfSync"
	cases := map[string]struct {
		reason      string
		change      func(*kueuev1beta2.Workload)
		want, write string
	}{
		"equivalent": {
			"what decides no quota may differ", nil,
			`Hold NotJudged: Kueue has not judged the Workload; it names LocalQueue "research"`, "",
		},
		"without owner": {
			"the operator adopts it", controller(),
			`Hold NotJudged: the Workload "made-for-bert" becomes the job's`, "",
		},
		"another job's": {
			"the operator takes nothing from other owners", controller(another),
			`Hold PrebuiltWorkloadTaken: the Workload "made-for-bert" that ` +
				`kueue.x-k8s.io/prebuilt-workload-name names belongs to Job other`, "",
		},
		"another count": {
			"its quota is for other pods", spec(func(s *kueuev1beta2.PodSet) { s.Count = 9 }),
			outOfSync + `its pod set "worker" has 9 pods, the job 4`, finish,
		},
		"another minimum": {
			"it may be admitted in part", spec(func(s *kueuev1beta2.PodSet) { s.MinCount = new(int32(1)) }),
			outOfSync + `its pod set "worker" has another minCount than the job's minAvailable`, finish,
		},
		"other requests": {
			"as Kueue compares", spec(func(s *kueuev1beta2.PodSet) {
				s.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
					"cpu": resource.MustParse("64"),
				}
			}),
			outOfSync + `the containers of its pod set "worker" are not the job's`, finish,
		},
		"other tolerations": {
			"as Kueue compares", spec(func(s *kueuev1beta2.PodSet) {
				s.Template.Spec.Tolerations = []corev1.Toleration{{Key: "x"}}
			}),
			outOfSync + `the tolerations of its pod set "worker" are not the job's`, finish,
		},
		"another pod set": {
			"roles find their assignment by name", spec(func(s *kueuev1beta2.PodSet) { s.Name = "main" }),
			outOfSync + `it has a pod set "main" where the job has "worker"`, finish,
		},
		"no pod set of the role": {
			"a role would have no quota", func(wl *kueuev1beta2.Workload) { wl.Spec.PodSets = nil },
			outOfSync + `it has 0 pod sets, the job 1 roles`, finish,
		},
		"another time": {
			"as Kueue compares", func(wl *kueuev1beta2.Workload) {
				wl.Spec.MaximumExecutionTimeSeconds = new(int32(60))
			},
			outOfSync + `it may run for 60 seconds, the job for any time`, finish,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := kueue.New(kueue.Options{})
			wl := prebuiltWorkload(t, tc.change)
			v := b.Read(gang(prebuilt), []client.Object{wl})
			if got := string(v.Admission) + " " + v.Reason + ": " + v.Message; got != tc.want {
				t.Errorf("%s: read\n%s\nwant\n%s", tc.reason, got, tc.want)
			}
			if v := b.Read(gang(prebuilt, hasPods), []client.Object{wl}); v.Admission != scheduler.Yield {
				t.Errorf("%s: its pods use no quota, got %s", tc.reason, v.Admission)
			}
			if !metav1.IsControlledBy(wl, &metav1.ObjectMeta{UID: gang().Owner.UID}) {
				return // SyncStatus sees the job's own objects only
			}
			writes := b.SyncStatus(gang(prebuilt), scheduler.GangStatus{Now: now}, []client.Object{wl})
			if got := describe(writes); got != tc.write {
				t.Errorf("%s: wrote %q, want %q", tc.reason, got, tc.write)
			}
			running := scheduler.GangStatus{PodsLeft: 1, Now: now}
			if got := describe(b.SyncStatus(gang(prebuilt), running, []client.Object{wl})); got != "" {
				t.Errorf("%s: the pods use the quota, but wrote %q", tc.reason, got)
			}
		})
	}
}

func TestPrebuiltWorkloadIsMissing(t *testing.T) {
	for name, change := range map[string]func(*scheduler.Gang){
		"annotation": prebuilt,
		"label":      func(g *scheduler.Gang) { g.JobLabels[kueue.PrebuiltWorkload] = "made-for-bert" },
	} {
		t.Run(name, func(t *testing.T) {
			v := kueue.New(kueue.Options{}).Read(gang(change), nil)
			if v.Admission != scheduler.Hold || v.Reason != kueue.ReasonPrebuiltNotFound ||
				!strings.Contains(v.Message, `"made-for-bert"`) || !strings.Contains(v.NextStep, "create") {
				t.Errorf("got %+v", v)
			}
			if _, adopts := (kueue.Backend{}).Adopts(gang(change)); adopts != "made-for-bert" {
				t.Errorf("adopts %q", adopts)
			}
		})
	}
}

// TestPrebuiltWorkloadIgnoresAdminTolerations: MultiKueue copies a Workload from a cluster whose operator
// adds different tolerations to the pods, or none.
func TestPrebuiltWorkloadIgnoresAdminTolerations(t *testing.T) {
	added := []corev1.Toleration{{Key: "example.com/gpu", Operator: corev1.TolerationOpExists}}
	tolerating := func(list []corev1.Toleration) func(*scheduler.Gang) {
		return func(g *scheduler.Gang) {
			g.Roles[0].Template.Spec.Tolerations = append(g.Roles[0].Template.Spec.Tolerations, added...)
			g.Roles[0].AddedTolerations = list
		}
	}
	wl := prebuiltWorkload(t, nil)
	b := kueue.New(kueue.Options{})
	v := b.Read(gang(prebuilt, tolerating(added)), []client.Object{wl})
	if v.Reason != scheduler.ReasonNotJudged {
		t.Errorf("an admin's: %s: %s", v.Reason, v.Message)
	}
	copied := prebuiltWorkload(t, func(wl *kueuev1beta2.Workload) {
		wl.Spec.PodSets[0].Template.Spec.Tolerations = added
	})
	v = b.Read(gang(prebuilt, tolerating(added)), []client.Object{copied})
	if v.Reason != scheduler.ReasonNotJudged {
		t.Errorf("a copy of this cluster's Workload: %s: %s", v.Reason, v.Message)
	}
	v = b.Read(gang(prebuilt, tolerating(nil)), []client.Object{wl})
	if v.Reason != kueue.ReasonOutOfSync {
		t.Errorf("a user's: %s: %s", v.Reason, v.Message)
	}
}

// TestPrebuiltWorkloadKeepsItsSpec: the job applies only metadata; the spec belongs to the Workload's maker.
func TestPrebuiltWorkloadKeepsItsSpec(t *testing.T) {
	objs, err := kueue.New(kueue.Options{}).Objects(gang(prebuilt))
	if err != nil {
		t.Fatal(err)
	}
	wl := objs[0].(*kueuev1beta2.Workload)
	if diff := cmp.Diff(kueuev1beta2.WorkloadSpec{}, wl.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if wl.Name != "made-for-bert" || wl.Labels["kueue.x-k8s.io/job-uid"] != string(gang().Owner.UID) ||
		len(wl.Finalizers) != 1 || len(wl.OwnerReferences) != 1 {
		t.Errorf("got %+v", wl.ObjectMeta)
	}
}

// TestWorkloadOfAnotherClusterIsReleased: MultiKueue deletes the job on a worker before its Workload, and
// treats a Workload that is Finished in between as the end of the manager's job.
func TestWorkloadOfAnotherClusterIsReleased(t *testing.T) {
	wl, g := readWorkload(t, "preempted")
	wl.Finalizers = []string{kueuev1beta2.ResourceInUseFinalizerName}
	gone := scheduler.GangStatus{Gone: true, Over: true, Now: now}
	for name, tc := range map[string]struct {
		origin      string
		subresource string
	}{"made here": {"", "status"}, "made by MultiKueue": {"manager", ""}} {
		wl.Labels = map[string]string{}
		if tc.origin != "" {
			wl.Labels[kueuev1beta2.MultiKueueOriginLabel] = tc.origin
		}
		writes := kueue.New(kueue.Options{}).SyncStatus(g, gone, []client.Object{wl})
		if len(writes) != 1 || writes[0].Subresource != tc.subresource {
			t.Fatalf("%s: got %+v, want one write to %q", name, writes, tc.subresource)
		}
		if tc.origin != "" && len(writes[0].Object.GetFinalizers()) > 0 {
			t.Errorf("%s: the finalizer stays", name)
		}
	}
}

func dispatched(g *scheduler.Gang) { g.Dispatched = true }

// TestDispatchedGang: a dispatched gang has no pods here, so it needs no binder. Missing or contradicting
// flavors of this cluster do not matter.
func TestDispatchedGang(t *testing.T) {
	b := kueue.New(kueue.Options{Binder: native.New(native.Options{})})
	objs, err := b.Objects(gang(dispatched))
	if err != nil || len(objs) != 1 {
		t.Errorf("got %d objects, want the Workload alone: %v", len(objs), err)
	}
	g := gang(dispatched, func(g *scheduler.Gang) { g.ClusterObjects = nil })
	if v := read(t, b, g, reserved, admitted, admission("h100", 0)); v.Admission != scheduler.Go {
		t.Errorf("got %+v", v)
	}
	if v := read(t, b, g, noQuota); v.Admission != scheduler.Hold {
		t.Errorf("got %+v", v)
	}
}

func TestEvictedDispatchedGang(t *testing.T) {
	wl, g := readWorkload(t, "preempted")
	g.Dispatched = true
	evicted := metav1.Time{}
	for _, c := range wl.Status.Conditions {
		if c.Type == kueuev1beta2.WorkloadEvicted {
			evicted = c.LastTransitionTime
		}
	}
	after := func(seconds int64) metav1.Time { return metav1.Unix(evicted.Unix()+seconds, 0) }
	cases := map[string]struct {
		reason string
		status scheduler.GangStatus
		writes int
	}{
		"still saves": {
			"the job would be deleted there", scheduler.GangStatus{Elsewhere: 2, Now: after(60)}, 0,
		},
		"has ended there": {"no pod uses the quota", scheduler.GangStatus{Now: after(60)}, 1},
		"cluster is lost": {
			"its status is no longer updated", scheduler.GangStatus{Elsewhere: 2, Now: after(300)}, 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			writes := kueue.New(kueue.Options{}).SyncStatus(g, tc.status, []client.Object{wl})
			if len(writes) != tc.writes {
				t.Errorf("%s: %d writes, want %d", tc.reason, len(writes), tc.writes)
			}
		})
	}
}

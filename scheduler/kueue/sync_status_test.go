package kueue_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// now is the clock of lab/modules/kueue/patches, which generates the JSON files.
var now = metav1.NewTime(time.Date(2026, 11, 1, 13, 0, 0, 0, time.UTC))

// TestWritesAreKueuesOwn compares the backend's applies in Kueue's name with Kueue's: field owner and every
// field.
func TestWritesAreKueuesOwn(t *testing.T) {
	over := scheduler.GangStatus{
		Over: true, Finished: true, Success: true, Message: "4/4 ranks succeeded", Now: now,
	}
	cases := map[string]struct {
		status scheduler.GangStatus
		change func(*kueuev1beta2.Workload)
	}{
		"handback": {status: scheduler.GangStatus{Now: now}},
		"finish":   {status: over},
		// Kueue gets PodsReady only for gangs that are not evicted.
		"ready": {
			status: scheduler.GangStatus{PodsLeft: 4, Ready: true, Now: now},
			change: notEvicted,
		},
		"open": {status: scheduler.GangStatus{MayPreempt: true, Now: now}},
		"reclaim": {
			status: scheduler.GangStatus{
				PodsLeft: 3, Over: true, Ended: map[string]int32{"Worker": 1}, Now: now,
			},
			change: notEvicted,
		},
	}
	files, err := filepath.Glob("testdata/patches/*.json")
	if err != nil || len(files) < len(cases) {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(base, func(t *testing.T) {
			input, name, _ := strings.Cut(base, ".")
			tc, ok := cases[name]
			if !ok {
				t.Fatal("no such write")
			}
			wl, g := readWorkload(t, input)
			if tc.change != nil {
				tc.change(wl)
			}
			writes := kueue.New(kueue.Options{}).SyncStatus(g, tc.status, []client.Object{wl})
			if len(writes) != 1 || writes[0].Base != nil || writes[0].Subresource != "status" {
				t.Fatalf("got %+v, want one apply to the status", writes)
			}
			body, err := json.Marshal(writes[0].Object)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.ReplaceAll(body, []byte(wl.Name), []byte("bert-0123456789"))
			got := map[string]any{
				"type": "application/apply-patch+yaml", "fieldOwner": writes[0].FieldOwner, "force": true,
				"body": decoded(t, body),
			}
			if diff := cmp.Diff(decoded(t, want), any(got)); diff != "" {
				t.Errorf("(-Kueue's +ours):\n%s", diff)
			}
		})
	}
}

func notEvicted(wl *kueuev1beta2.Workload) {
	meta.RemoveStatusCondition(&wl.Status.Conditions, kueuev1beta2.WorkloadEvicted)
}

// readWorkload reads a Workload and its gang. The Workload gets the name that the backend gives it.
func readWorkload(t *testing.T, name string) (*kueuev1beta2.Workload, scheduler.Gang) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "patches", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wl := &kueuev1beta2.Workload{}
	if err := yaml.UnmarshalStrict(content, wl); err != nil {
		t.Fatal(err)
	}
	g := gang()
	g.PreemptionGate = len(wl.Spec.PreemptionGates) > 0
	wl.Name, wl.Spec = kueue.WorkloadName(g), only(t, g).Spec
	return wl, g
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSyncStatus(t *testing.T) {
	on := admission("h100", 0)
	ready := cond(kueuev1beta2.WorkloadPodsReady, metav1.ConditionTrue, "Started",
		"All pods reached readiness and the workload is running")
	deleted := func(wl *kueuev1beta2.Workload, _ int) { wl.DeletionTimestamp = &now }
	running := scheduler.GangStatus{PodsLeft: 4, Ready: true, Now: now}
	unready := scheduler.GangStatus{PodsLeft: 4, Now: now}
	gone := scheduler.GangStatus{Gone: true, Over: true, Now: now}
	over := scheduler.GangStatus{Over: true, Finished: true, Message: "rank 2 failed", Now: now}
	withPods := func(l scheduler.GangStatus) scheduler.GangStatus { l.PodsLeft = 1; return l }
	cases := map[string]struct {
		reason  string
		written []func(*kueuev1beta2.Workload, int)
		status  scheduler.GangStatus
		want    string
	}{
		"queued": {
			"without the condition Kueue assumes not ready", nil, scheduler.GangStatus{Now: now}, "",
		},
		"admitted, not ready": {"also without a write", written(reserved, admitted, on), unready, ""},
		"admitted, ready": {
			"else it is evicted when the time is over", written(reserved, admitted, on), running,
			"status kueue-job-controller-PodsReady: PodsReady=True Started",
		},
		"known to be ready": {
			"it is reported already", written(reserved, admitted, on, ready), running, "",
		},
		"a rank failed": {
			"Kueue gives it recoveryTimeout", written(reserved, admitted, on, ready), unready,
			"status kueue-job-controller-PodsReady: PodsReady=False WaitForRecovery",
		},
		"recovered": {
			"as Kueue reports it",
			written(reserved, admitted, on,
				cond(kueuev1beta2.WorkloadPodsReady, metav1.ConditionFalse, "WaitForRecovery", "x")),
			running, "status kueue-job-controller-PodsReady: PodsReady=True Recovered",
		},
		"evicted with pods": {
			"their quota is in use", written(reserved, admitted, on, preempted, ready), unready, "",
		},
		"evicted without pods": {
			"before anything that is optional", written(reserved, admitted, on, preempted, ready),
			scheduler.GangStatus{Now: now}, "status kueue-admission: QuotaReserved=False Pending",
		},
		"handed back, ready before": {
			"the next start has the full time again", written(preempted, noQuota, ready),
			scheduler.GangStatus{Now: now},
			"status kueue-job-controller-PodsReady: PodsReady=False WaitForStart",
		},
		"over": {
			"its quota is released for good", written(reserved, admitted, on), over,
			"status kueue-admission: Finished=True Failed",
		},
		"finished": {
			"Kueue keeps it, the operator does not",
			written(cond(kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, "Failed", "x")), over, "let go",
		},
		"finished by others with pods": {
			"they still run", written(cond(kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, "Failed", "x")),
			unready, "",
		},
		"deleted with pods": {
			"they hold its quota", written(deleted, reserved, admitted, on), running, "",
		},
		"deleted": {
			"nothing holds it any more", written(deleted, reserved, admitted, on),
			scheduler.GangStatus{Now: now}, "let go",
		},
		"job gone, with pods": {
			"they hold its quota", written(reserved, admitted, on), withPods(gone), "",
		},
		"job gone": {
			"Kueue never frees a Workload with an owner reference", written(reserved, admitted, on), gone,
			"status kueue-admission: Finished=True OwnerNotFound",
		},
		"job gone, being deleted": {
			"its conditions are never read", written(deleted, reserved, admitted, on), gone, "let go",
		},
		"a gang in restart": {
			"it keeps its quota, and Kueue its recovery timeout", written(reserved, admitted, on, ready),
			scheduler.GangStatus{Now: now},
			"status kueue-job-controller-PodsReady: PodsReady=False WaitForRecovery",
		},
		"a gang in restart, reported": {
			"the backoff releases nothing",
			written(reserved, admitted, on,
				cond(kueuev1beta2.WorkloadPodsReady, metav1.ConditionFalse, "WaitForRecovery", "x")),
			scheduler.GangStatus{Now: now}, "",
		},
		"preempted in restart": {
			"no pod is left that could hold the quota",
			written(reserved, admitted, on, preempted,
				cond(kueuev1beta2.WorkloadPodsReady, metav1.ConditionFalse, "WaitForRecovery", "x")),
			scheduler.GangStatus{Now: now}, "status kueue-admission: QuotaReserved=False Pending",
		},
		"admitted on nodes that the pods exclude": {
			"it can never start, and would hold quota", written(reserved, admitted, on, contradicted),
			scheduler.GangStatus{Now: now}, "status kueue-admission: Finished=True FailedToStart",
		},
		"contradicted while it runs": {
			"running pods continue", written(reserved, admitted, on, ready, contradicted), running, "",
		},
		"contradicted and evicted": {
			"it may be admitted elsewhere", written(reserved, admitted, on, preempted, contradicted),
			scheduler.GangStatus{Now: now}, "status kueue-admission: QuotaReserved=False Pending",
		},
		"failed to start": {
			"Kueue keeps it, the operator does not",
			written(cond(kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, "FailedToStart", "x")),
			scheduler.GangStatus{Now: now}, "let go",
		},
		"some ranks ended for good": {
			"no restart follows", written(reserved, admitted, on, ready),
			scheduler.GangStatus{
				PodsLeft: 3, Ready: true, Over: true, Ended: map[string]int32{"Worker": 1},
				Now: now,
			},
			"status kueue-reclaimable-pods: worker 1",
		},
		"some ranks ended, not over": {
			"a restart may follow, and the number can never decrease",
			written(reserved, admitted, on, ready),
			scheduler.GangStatus{
				PodsLeft: 3, Ready: true, Ended: map[string]int32{"Worker": 1}, Now: now,
			},
			"",
		},
		"fewer ended than reported": {
			"the number must not decrease", written(reserved, admitted, on, ready, reclaimed(2)),
			scheduler.GangStatus{
				PodsLeft: 3, Ready: true, Over: true, Ended: map[string]int32{"Worker": 1},
				Now: now,
			},
			"",
		},
		"admitted in part, some ended": {
			"Kueue counts from the full size", written(reserved, admitted, admission("h100", 2), ready),
			scheduler.GangStatus{
				PodsLeft: 1, Ready: true, Over: true, Ended: map[string]int32{"Worker": 3},
				Now: now,
			},
			"",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, g := kueue.New(kueue.Options{}), gang()
			objs, err := b.Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			objs[0].SetResourceVersion("7")
			for _, write := range tc.written {
				write(objs[0].(*kueuev1beta2.Workload), 1)
			}
			if got := describe(b.SyncStatus(g, tc.status, append(objs, g.ClusterObjects...))); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// contradicted: a check sets a node selector for the workers that contradicts their own.
func contradicted(wl *kueuev1beta2.Workload, _ int) {
	wl.Status.AdmissionChecks = []kueuev1beta2.AdmissionCheckState{{
		Name: "provision", State: kueuev1beta2.CheckStateReady,
		PodSetUpdates: []kueuev1beta2.PodSetUpdate{{
			Name: "worker", NodeSelector: map[string]string{"example.com/kept": "no"},
		}},
	}}
}

func written(all ...func(*kueuev1beta2.Workload, int)) []func(*kueuev1beta2.Workload, int) {
	return all
}

func reclaimed(n int32) func(*kueuev1beta2.Workload, int) {
	return func(wl *kueuev1beta2.Workload, _ int) {
		wl.Status.ReclaimablePods = []kueuev1beta2.ReclaimablePod{{Name: "worker", Count: n}}
	}
}

// describe returns the first write in one line.
func describe(writes []scheduler.Write) string {
	if len(writes) == 0 {
		return ""
	}
	w := writes[0]
	wl := w.Object.(*kueuev1beta2.Workload)
	if w.Base != nil {
		if len(wl.Finalizers) == 0 && len(w.Base.GetFinalizers()) == 1 {
			return "let go"
		}
		return "something else"
	}
	head := fmt.Sprintf("%s %s: ", w.Subresource, w.FieldOwner)
	if len(wl.Status.ReclaimablePods) > 0 {
		return head + fmt.Sprintf("%s %d", wl.Status.ReclaimablePods[0].Name,
			wl.Status.ReclaimablePods[0].Count)
	}
	// Other conditions are included in the apply, but were written before.
	for _, c := range wl.Status.Conditions {
		if c.LastTransitionTime.Equal(&now) &&
			c.Type != kueuev1beta2.WorkloadAdmitted && c.Type != kueuev1beta2.WorkloadRequeued {
			return head + fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason)
		}
	}
	return head
}

package jobview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

func cellsOf(t *testing.T, in RanksInput) []fragment.Fragment {
	t.Helper()
	v := RanksOf(in)
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	fragmenttest.Check(t, all)
	return all
}

// changed fragments of two pages with the same ids, by id.
func changed(before, after []fragment.Fragment) map[string]string {
	all := map[string]string{}
	for i := range after {
		if after[i].Version() != before[i].Version() {
			all[after[i].ID] = string(after[i].HTML)
		}
	}
	return all
}

// phases summarizes the phases of ranks.
func phases(in RanksInput) string {
	var all []string
	for _, c := range RanksOf(in).Counts {
		all = append(all, fmt.Sprintf("%d %s", c.Count, c.Says))
	}
	return strings.Join(all, ", ")
}

// TestRankThatChanges: the update has its cell and the summary, whatever the number of ranks.
func TestRankThatChanges(t *testing.T) {
	_, in := thousandRanks()
	if got := phases(in); got != "1000 running" {
		t.Fatalf("it begins with %s", got)
	}
	before := cellsOf(t, in)
	for name, tt := range map[string]struct {
		change func(*RanksInput)
		says   string
		cell   string
	}{
		"dies": {
			func(in *RanksInput) { in.Placed = append(in.Placed[:50:50], in.Placed[51:]...) },
			"999 running, 1 ended, result unknown",
			`title="Worker 50: ended, result unknown, was on gpu-51">50<span class="hidden"> ended,`,
		},
		"is not listed and on no node": {
			func(in *RanksInput) { in.Placed = append(in.Placed[:500:500], in.Placed[501:]...) },
			"999 running, 1 on no node", `title="Worker 500: on no node">`,
		},
		"restarts": {
			func(in *RanksInput) { in.Placed[500].Restarts, in.Placed[500].Ready = 2, false },
			"999 running, 1 running, not ready",
			`Worker 500: running, not ready on gpu-501, 2 restarts">500<span class="hidden"> running, not ready, 2 re`,
		},
		"is being deleted": {
			func(in *RanksInput) { in.Placed[7].State = placement.Ending }, "999 running, 1 ending",
			`title="Worker 7: ending on gpu-08">`,
		},
		"is bound elsewhere": {
			func(in *RanksInput) { in.Placed[7].Node, in.Placed[7].State = "gpu-2000", placement.Starting },
			"999 running, 1 starting", `title="Worker 7: starting on gpu-2000">`,
		},
		"is on a node that is lost": {
			func(in *RanksInput) { in.Placed[7].State = "" }, "999 running, 1 unknown",
			`title="Worker 7: unknown on gpu-08">`,
		},
	} {
		_, in := thousandRanks()
		tt.change(&in)
		if got := phases(in); got != tt.says {
			t.Errorf("%s: %s", name, got)
		}
		sent := changed(before, cellsOf(t, in))
		summary := sent["job-ranks"]
		delete(sent, "job-ranks")
		if len(sent) != 1 || !strings.Contains(summary, "Ranks that need attention") {
			t.Errorf("%s: sent are %v", name, sent)
		}
		for id, html := range sent {
			if !strings.Contains(html, tt.cell) || len(html) > 600 {
				t.Errorf("%s: %s is %s", name, id, html)
			}
		}
	}
}

// TestRanksOnNodes: the server's view of a rank overrides the status, which can be older.
func TestRanksOnNodes(t *testing.T) {
	job := newScenario("bert", 6).job
	job.Status.Phase = v1alpha1.PhaseStarting
	started := metav1.NewTime(epoch)
	listed := func(index int32, phase, node string) v1alpha1.WorkerStatus {
		return v1alpha1.WorkerStatus{
			Role: v1alpha1.RoleWorker, Index: index, Phase: phase, Node: node, StartTime: &started,
		}
	}
	job.Status.Workers = []v1alpha1.WorkerStatus{
		listed(0, "Running", "a"), listed(1, "Pending", ""), listed(2, "Failed", "b"), listed(3, "Running", "old"),
		listed(4, "Pending", "c"), listed(5, "Succeeded", "d"),
	}
	on := func(index int32, node string, state placement.RankState) placement.RankOnNode {
		return placement.RankOnNode{
			Node: node, Rank: placement.Rank{Role: "worker", Index: index, State: state, Ready: true},
		}
	}
	in := RanksInput{Job: job, Followed: true, Placed: []placement.RankOnNode{
		on(0, "a", placement.Running), on(3, "new", placement.Starting),
	}}
	var got []string
	for _, r := range RanksOf(in).Roles[0].Ranks {
		got = append(got, fmt.Sprintf("%s ready=%s started=%t", r.Title, r.ReadySays(), r.Started != nil))
	}
	want := []string{
		"Worker 0: running on a ready=yes started=true",
		"Worker 1: pending ready=no started=true",
		"Worker 2: failed, was on b ready=no started=true",
		"Worker 3: starting on new ready=no started=false",
		"Worker 4: ended, result unknown, was on c ready=no started=true",
		"Worker 5: succeeded, was on d ready=no started=true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRanksOfStatus: if the pods are not followed, or not for this reader, ranks missing in the status are
// marked unknown. The status lists the 100 least healthy. The others run if all of a role are ready, or if
// the last listed one runs.
func TestRanksOfStatus(t *testing.T) {
	_, in := thousandRanks()
	in.Followed, in.Placed, in.Notes = false, nil, []string{"You may not see the pods."}
	ready := func() string {
		all := map[string]int{}
		for _, r := range RanksOf(in).Roles[0].Ranks {
			all[r.ReadySays()]++
		}
		return fmt.Sprint(all)
	}
	if got := phases(in); got != "1000 running" || ready() != "map[yes:1000]" {
		t.Errorf("all are ready, but %s, %s", got, ready())
	}
	counted := in.Job.Status.ReplicaStatuses[v1alpha1.RoleWorker]
	set := func(n, ended int32, succeeded string) {
		counted.Ready, counted.Succeeded, counted.SucceededIndexes = n, ended, succeeded
		in.Job.Status.ReplicaStatuses[v1alpha1.RoleWorker] = counted
	}
	set(999, 0, "")
	if got := phases(in); got != "1000 running" || ready() != "map[unknown:1000]" {
		t.Errorf("one is not ready, and the healthiest are not listed, but %s, %s", got, ready())
	}
	in.Job.Status.Workers = slices.Clone(in.Job.Status.Workers)
	in.Job.Status.Workers[99].Phase = string(corev1.PodPending)
	if got := phases(in); got != "900 not listed, 99 running, 1 pending" {
		t.Errorf("what is not listed may be pending, but %s", got)
	}
	in.Job.Status.Workers[99].Phase = string(corev1.PodRunning)
	set(998, 1, "")
	if got := phases(in); got != "900 not listed, 100 running" || ready() != "map[no:900 unknown:100]" {
		t.Errorf("one has ended, and its pod may be listed still, but %s, %s", got, ready())
	}
	if notes := RanksOf(in).Notes; len(notes) != 2 || notes[0] != in.Notes[0] {
		t.Errorf("notes are %q", notes)
	}
	if r := RanksOf(in).Roles[0].Ranks[500]; r.RestartsSay() != unknown || r.Node != "" {
		t.Errorf("nothing is known of %+v", r)
	}
	set(0, 100, "900-999")
	if got := phases(in); got != "800 not listed, 100 running, not ready, 100 succeeded" {
		t.Errorf("some have ended, and %s", got)
	}
	in.Job.Status.Workers, in.Job.Status.ReplicaStatuses = nil, nil
	if got := phases(in); got != "1000 no pod" {
		t.Errorf("there is no pod, but %s", got)
	}
	in.Followed = true
	if got := phases(in); got != "1000 no pod" {
		t.Errorf("there is no pod on a node, but %s", got)
	}
}

// TestTroubledRanks: the worst ranks are listed first, up to a limit.
func TestTroubledRanks(t *testing.T) {
	_, in := thousandRanks()
	in.Placed[3].Restarts = 1
	in.Placed[9].State = placement.Starting
	in.Placed = in.Placed[:999]
	v := RanksOf(in)
	var got []string
	for _, r := range v.Troubled {
		got = append(got, r.Title)
	}
	want := []string{
		"Worker 999: on no node", "Worker 9: starting on gpu-10", "Worker 3: running on gpu-04, 1 restart",
	}
	if diff := cmp.Diff(want, got); diff != "" || v.More != 0 {
		t.Errorf("%d more (-want +got):\n%s", v.More, diff)
	}
	in.Placed = in.Placed[:100]
	if v = RanksOf(in); len(v.Troubled) != maxTroubled || v.More != 900+2-maxTroubled {
		t.Errorf("%d are listed, and %d more", len(v.Troubled), v.More)
	}
}

package contention

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// summaryOf a status in one line: the outcome, and each victim with its mode, its loss in seconds and its
// GPU-seconds.
func summaryOf(st *v1alpha1.PreemptionStatus) string {
	if st == nil {
		return "nothing"
	}
	line := string(st.Outcome)
	for _, v := range st.Victims {
		name := v.Name
		if name == "" {
			name = "(" + string(v.UID) + ")"
		}
		line += fmt.Sprintf(" %s %s %d s %d", name, v.Mode, v.EstimatedLossSeconds, v.LossGPUSeconds)
	}
	return line
}

func TestChoose(t *testing.T) {
	const research = "queues.scheduling.volcano.sh/research"
	gone := func(phase v1alpha1.Phase) func(*Job) { return func(j *Job) { j.Status.Phase = phase } }
	cases := map[string]struct {
		reason string
		state  scheduler.ClusterState
		jobs   []Job
		want   map[string]string
	}{
		"the cheaper of two": {
			"10 s since its checkpoint and 120 s for a start, against half an hour", full("a", "b"), []Job{
				jobOf("fresh", 1, 1, runs(time.Hour, "a"), saved(10*time.Second)),
				jobOf("stale", 1, 1, runs(time.Hour, "b"), saved(30*time.Minute)),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "Planned fresh Kill 130 s 1040"},
		},
		"one that can be asked": {
			"it saves first, and loses what a save takes: not even the younger checkpoint is cheaper",
			full("a", "b"), []Job{
				jobOf("silent", 1, 1, runs(time.Hour, "a"), saved(30*time.Second)),
				jobOf("reports", 1, 1, runs(time.Hour, "b"), saved(30*time.Minute), reports),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "Planned reports Save 140 s 1120"},
		},
		"only of lower value": {
			"a gang of equal value does not yield", full("a"), []Job{
				jobOf("peer", 9, 1, runs(time.Hour, "a")), jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "NoCover"},
		},
		"a whole gang": {
			"both of its ranks are counted, though one node is enough", full("a", "b"), []Job{
				jobOf("low", 1, 2, runs(time.Hour, "a", "b"), saved(10*time.Second)),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "Planned low Kill 130 s 2080"},
		},
		"not one that is young": {
			"the preemptor has been queued for too short a time for that", full("a"), []Job{
				jobOf("young", 1, 1, runs(time.Minute, "a")),
				jobOf("urgent", 9, 1, waits(30*time.Second, v1alpha1.ReasonInsufficientResources)),
			}, map[string]string{"urgent": "OnlyProtected"},
		},
		"a young one after all": {
			"there are no other victims, and the preemptor has been queued for a minute", full("a"), []Job{
				jobOf("young", 1, 1, runs(time.Minute, "a")), jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "Planned young Kill 180 s 1440"},
		},
		"of its own scheduler": {
			"no other one's gang is ended for it", full("a"), []Job{
				jobOf("other", 1, 1, runs(time.Hour, "a"), of(v1alpha1.SchedulerNative)),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "NoCover"},
		},
		"of its own queue": {
			"Volcano preempts within queues", full("a", "b"), []Job{
				jobOf("cheap", 1, 1, runs(time.Hour, "a"), saved(10*time.Second), queue("product")),
				jobOf("ours", 1, 1, runs(time.Hour, "b"), saved(30*time.Minute), queue("research")),
				jobOf("urgent", 9, 1, lacksNodes, queue("research")),
			}, map[string]string{"urgent": "Planned ours Kill 1920 s 15360"},
		},
		"of any namespace": {
			"kube-scheduler does, and another namespace's job is not named", full("a"), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a"), of(v1alpha1.SchedulerNative), in("team-b")),
				jobOf("urgent", 9, 1, lacksNodes, of(v1alpha1.SchedulerNative)),
			}, map[string]string{"urgent": "Planned (low) Kill 3720 s 29760"},
		},
		"on its own nodes": {
			"its ranks select node b", full("a", "b"), []Job{
				jobOf("cheap", 1, 1, runs(time.Hour, "a"), saved(10*time.Second)),
				jobOf("there", 1, 1, runs(time.Hour, "b"), saved(30*time.Minute)),
				jobOf("urgent", 9, 1, lacksNodes, func(j *Job) {
					j.Spec.NodeSelector = map[string]string{"name": "b"}
				}),
			}, map[string]string{"urgent": "Planned there Kill 1920 s 15360"},
		},
		"by itself": {
			"it finishes within the time that saves may take", full("a"), []Job{
				jobOf("ending", 1, 1, runs(time.Hour, "a"), func(j *Job) {
					at := ago(-time.Minute)
					j.Status.Progress = &v1alpha1.ProgressStatus{Attempt: 1, EstimatedCompletionTime: &at}
				}),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "Planned ending EndsByItself 0 s 0"},
		},
		"its next checkpoint": {
			"it does not report, and saves every 15 minutes", full("a"), []Job{
				jobOf("saver", 1, 1, runs(time.Hour, "a"), saved(14*time.Minute)),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "Planned saver NextCheckpoint 130 s 1040"},
		},
		"ending gang": {
			"its capacity becomes free anyway", full("a"), []Job{
				jobOf("ending", 1, 1, runs(time.Hour, "a"), gone(v1alpha1.PhaseDraining)),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "NoCover"},
		},
		"a victim only once": {
			"the first of two has the only victim", full("a"), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a")),
				jobOf("second", 9, 1, lacksNodes), jobOf("first", 10, 1, lacksNodes),
			}, map[string]string{"first": "Planned low Kill 3720 s 29760", "second": "NoCover"},
		},
		"beside another": {
			"what the first one's victim leaves is enough for the second, and is not there yet",
			full("a", "b"), []Job{
				jobOf("low", 1, 2, runs(time.Hour, "a", "b")),
				jobOf("second", 9, 1, lacksNodes), jobOf("first", 10, 1, lacksNodes),
			}, map[string]string{"first": "Planned low Kill 3720 s 59520", "second": "Busy"},
		},
		"Kueue": {
			"its quotas and cohorts decide", full("a"), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a"), of(v1alpha1.SchedulerKueue)),
				jobOf("urgent", 9, 1, lacksNodes, of(v1alpha1.SchedulerKueue)),
			}, map[string]string{"urgent": "NotPlanned"},
		},
		"devices": {
			"a DeviceClass serves what it requests: the victim's nodes may not have it",
			served(full("a")), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a")), jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "NotPlanned"},
		},
		"a victim of unknown GPUs": {
			"it counts one for each rank, and is not free of charge", full("a"), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a"), func(j *Job) {
					j.Status.GPUs, j.Status.Replicas = 0, 1
					j.Status.GPUsUnknown = "ResourceClaimTemplate gpus does not exist"
				}),
				jobOf("urgent", 9, 1, lacksNodes),
			}, map[string]string{"urgent": "Planned low Kill 3720 s 3720"},
		},
		"another reason": {
			"a gang behind others does not lack capacity", full("a"), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a")),
				jobOf("behind", 9, 1, waits(time.Minute, v1alpha1.ReasonWaitingBehind)),
			}, map[string]string{},
		},
		"a quota and nodes": {
			"node b is free, and research has 4 GPUs left: the cheaper job elsewhere gives none of them back",
			scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{node("a", 8), node("b", 0), node("c", 8)}},
			[]Job{
				jobOf("cheap", 1, 1, runs(time.Hour, "a"), saved(10*time.Second), queue("product")),
				jobOf("ours", 1, 1, runs(time.Hour, "c"), saved(30*time.Minute), queue("research")),
				jobOf("urgent", 9, 1, lacksQuota(research, "4"), queue("research")),
			}, map[string]string{"urgent": "Planned ours Kill 1920 s 15360"},
		},
		"a namespace's quota": {
			"only its own jobs use it", full("a", "b"), []Job{
				jobOf("cheap", 1, 1, runs(time.Hour, "a"), saved(10*time.Second), in("team-b"),
					of(v1alpha1.SchedulerNative)),
				jobOf("ours", 1, 1, runs(time.Hour, "b"), saved(30*time.Minute), of(v1alpha1.SchedulerNative)),
				jobOf("urgent", 9, 1, lacksQuota("resourcequotas/gpus", "0"), of(v1alpha1.SchedulerNative)),
			}, map[string]string{"urgent": "Planned ours Kill 1920 s 15360"},
		},
		"one quota for two": {
			"what the first takes of it the second cannot have", full("a", "b"), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a"), queue("research")),
				jobOf("also-low", 1, 1, runs(time.Hour, "b"), queue("research"), in("team-b")),
				jobOf("first", 10, 1, lacksQuota(research, "0"), queue("research")),
				jobOf("second", 9, 1, lacksQuota(research, "0"), queue("research")),
				jobOf("third", 8, 1, lacksQuota(research, "0"), queue("research")),
			}, map[string]string{
				"first":  "Planned (also-low) Kill 3720 s 29760",
				"second": "Planned low Kill 3720 s 29760", "third": "NoCover",
			},
		},
		"a quota without numbers": {
			"an ElasticQuota's message has none", full("a"), []Job{
				jobOf("low", 1, 1, runs(time.Hour, "a")),
				jobOf("urgent", 9, 1, waits(10*time.Minute, v1alpha1.ReasonQuotaExceeded)),
			}, map[string]string{"urgent": "NotPlanned"},
		},
		"free capacity": {
			"it is for the scheduler to find it",
			scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{node("a", 0)}},
			[]Job{jobOf("urgent", 9, 1, lacksNodes)}, map[string]string{"urgent": "Fits"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for ref, st := range Choose(policy, Cluster{Now: now, State: tc.state, Jobs: tc.jobs}) {
				got[string(ref.UID)] = summaryOf(st)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestManyWait: a pass examines a limited number of gangs, and the others are Busy.
func TestManyWait(t *testing.T) {
	jobs := []Job{jobOf("peer", 9, 1, runs(time.Hour, "a"))}
	for i := range 2 * Considered {
		jobs = append(jobs, jobOf(fmt.Sprintf("waiter-%03d", i), 9, 1, lacksNodes))
	}
	outcomes := map[v1alpha1.PreemptionOutcome]int{}
	for _, st := range Choose(policy, Cluster{Now: now, State: full("a"), Jobs: jobs}) {
		outcomes[st.Outcome]++
	}
	want := map[v1alpha1.PreemptionOutcome]int{
		v1alpha1.PreemptionNoCover: Considered, v1alpha1.PreemptionBusy: Considered,
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyVictims: a status lists 64 of them, and counts all.
func TestManyVictims(t *testing.T) {
	const ranks = maxVictims + 6
	var names []string
	var jobs []Job
	for i := range ranks {
		names = append(names, fmt.Sprintf("node-%02d", i))
		jobs = append(jobs, jobOf(fmt.Sprintf("low-%02d", i), 1, 1, runs(time.Hour, names[i])))
	}
	jobs = append(jobs, jobOf("urgent", 9, ranks, lacksNodes))
	all := Choose(policy, Cluster{Now: now, State: full(names...), Jobs: jobs})
	st := all[preemption.Ref{UID: "urgent", Attempt: 1}]
	if len(st.Victims) != maxVictims || st.VictimCount != ranks || st.LossGPUSeconds != ranks*3720*8 {
		t.Errorf("%d victims are listed of %d, who lose %d GPU-seconds", len(st.Victims), st.VictimCount,
			st.LossGPUSeconds)
	}
}

// TestVocabulary: the planner and the API spell outcomes, phases and modes alike.
func TestVocabulary(t *testing.T) {
	for planners, apis := range map[string]string{
		string(preemption.Planned):        string(v1alpha1.PreemptionPlanned),
		string(preemption.Fits):           string(v1alpha1.PreemptionFits),
		string(preemption.OnlyProtected):  string(v1alpha1.PreemptionOnlyProtected),
		string(preemption.NoCover):        string(v1alpha1.PreemptionNoCover),
		string(preemption.Busy):           string(v1alpha1.PreemptionBusy),
		string(preemption.Patience):       string(v1alpha1.PreemptionPatience),
		string(preemption.Save):           string(v1alpha1.PreemptionSave),
		string(preemption.NextCheckpoint): string(v1alpha1.PreemptionNextCheckpoint),
		string(preemption.EndsByItself):   string(v1alpha1.PreemptionEndsByItself),
		string(preemption.Kill):           string(v1alpha1.PreemptionKill),
	} {
		if planners != apis || strings.TrimSpace(apis) == "" {
			t.Errorf("the planner has %q, the API has %q", planners, apis)
		}
	}
}

package contention

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// kueueState has a ClusterQueue of 16 GPUs, of which 8 are free.
func kueueState(strategy kueuev1beta2.QueueingStrategy) scheduler.ClusterState {
	cluster, local := &kueuev1beta2.ClusterQueue{}, &kueuev1beta2.LocalQueue{}
	cluster.Name, local.Namespace, local.Name = "gpus", "team-a", "research"
	local.Spec.ClusterQueue, cluster.Spec.QueueingStrategy = "gpus", strategy
	cluster.Spec.ResourceGroups = []kueuev1beta2.ResourceGroup{{
		CoveredResources: []corev1.ResourceName{gpu},
		Flavors: []kueuev1beta2.FlavorQuotas{{Name: "h100", Resources: []kueuev1beta2.ResourceQuota{
			{Name: gpu, NominalQuota: resource.MustParse("16")},
		}}},
	}}
	used := []kueuev1beta2.ResourceUsage{{Name: gpu, Total: resource.MustParse("8")}}
	cluster.Status.FlavorsReservation = []kueuev1beta2.FlavorUsage{{Name: "h100", Resources: used}}
	kinds := kueue.Backend{}.StateKinds()
	return scheduler.ClusterState{
		Complete: true, Nodes: []scheduler.Node{node("a", 8), node("b", 8)},
		Objects: map[schema.GroupVersionKind]scheduler.Objects{kinds[0]: {local}, kinds[1]: {cluster}},
	}
}

// gated queues a gang on Kueue behind its gate.
func gated(gate scheduler.Gate, gpus int64) func(*Job) {
	return func(j *Job) {
		of(v1alpha1.SchedulerKueue)(j)
		queue("research")(j)
		lacksQuota("clusterqueues.kueue.x-k8s.io/gpus", "8")(j)
		j.Contest = &scheduler.Contest{
			Queue: "gpus", AdmissionGate: gate, Free: map[string]scheduler.Amounts{"h100": {gpu: 8}},
			Needs: []scheduler.QuotaNeed{{Requests: scheduler.Amounts{gpu: gpus}, Flavors: []string{"h100"}}},
		}
	}
}

// TestUngated: a gang loses its gate unless a written reservation holds it.
func TestUngated(t *testing.T) {
	large := func(edit ...func(*Job)) Job {
		return jobOf("large", 5, 2, append([]func(*Job){
			gated("", 16), reservesAfter(time.Minute), createdAgo(2 * time.Hour),
		}, edit...)...)
	}
	const blocks = scheduler.GateBlocks
	const fifo = kueuev1beta2.StrictFIFO
	for name, c := range map[string]struct {
		reason string
		state  scheduler.ClusterState
		jobs   []Job
		want   string
	}{
		"no class": {
			"the queue decides", kueueState(""), []Job{jobOf("small", 5, 1, gated(blocks, 8))}, "small",
		},
		"unwritten": {
			"nothing is held yet", kueueState(""),
			[]Job{large(), jobOf("small", 5, 1, gated(blocks, 8))}, "small",
		},
		"held": {
			"it would take the reserved quota", kueueState(""),
			[]Job{large(keeps(time.Hour)), jobOf("small", 5, 1, gated(blocks, 8))}, "",
		},
		"higher": {
			"it goes first", kueueState(""),
			[]Job{large(keeps(time.Hour)), jobOf("small", 9, 1, gated(blocks, 8))}, "small",
		},
		"passes, unwritten": {
			"a pass takes effect once it is written", kueueState(""),
			[]Job{large(keeps(time.Hour)), jobOf("small", 5, 1, gated(blocks, 8), deadline(60))}, "",
		},
		"passes": {
			"its pass is written", kueueState(""),
			[]Job{large(keeps(time.Hour)), jobOf("small", 5, 1, gated(blocks, 8), deadline(60),
				passes(v1alpha1.BackfillEndsBefore))}, "small",
		},
		"strict order": {
			"the lane has no reservations", kueueState(fifo),
			[]Job{large(keeps(time.Hour)), jobOf("small", 5, 1, gated(blocks, 8))}, "large small",
		},
		"without a gate": {
			"it cannot be held", kueueState(""),
			[]Job{large(keeps(time.Hour)), jobOf("small", 5, 1, gated("", 8))}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := append(c.jobs, jobOf("bert", 5, 1, gated("", 8), runs(time.Hour, "a"), endsIn(time.Hour)))
			r := Reserve(reserving, Cluster{Now: now, State: c.state, Jobs: jobs}, Reserves{})
			var got []string
			for ref, open := range r.Ungated {
				if open {
					got = append(got, string(ref.UID))
				}
			}
			slices.Sort(got)
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s: ungated %q, want %q", c.reason, s, c.want)
			}
			small := c.jobs[len(c.jobs)-1]
			if b := r.Backfills[small.ref()]; b != nil && b.Held != nil && name != "held" {
				t.Errorf("%s: it is held", c.reason)
			}
		})
	}
}

// TestUngatedWhenNoGangRuns: a queue limits its gangs also while none of them holds its quota.
func TestUngatedWhenNoGangRuns(t *testing.T) {
	state := kueueState("")
	for _, objects := range state.Objects {
		for _, o := range objects {
			if cluster, ok := o.(*kueuev1beta2.ClusterQueue); ok {
				cluster.Status.FlavorsReservation = nil
			}
		}
	}
	small := jobOf("small", 5, 1, gated(scheduler.GateBlocks, 8))
	r := Reserve(reserving, Cluster{Now: now, State: state, Jobs: []Job{small, jobOf("large", 5, 2,
		gated("", 16), reservesAfter(time.Minute), createdAgo(2*time.Hour), keeps(time.Hour))}}, Reserves{})
	if b := r.Backfills[small.ref()]; r.Ungated[small.ref()] || b == nil || b.Held == nil {
		t.Errorf("a gang that would take the reserved quota is not held: %+v", b)
	}
}

// TestStaleQueueStatus: a gang that has begun counts once, also if the status of its queue is older.
func TestStaleQueueStatus(t *testing.T) {
	small := jobOf("small", 5, 1, gated(scheduler.GateBlocks, 8))
	bert := jobOf("bert", 5, 3, gated("", 24), runs(time.Hour, "a", "a", "a"), endsIn(time.Hour))
	short := jobOf("short", 5, 1, gated("", 8), runs(time.Minute, "b"), endsIn(time.Minute))
	large := jobOf("large", 5, 4, gated("", 32), reservesAfter(time.Minute), createdAgo(2*time.Hour),
		keeps(time.Hour))
	state := kueueState("")
	for _, objects := range state.Objects {
		for _, o := range objects {
			if cluster, ok := o.(*kueuev1beta2.ClusterQueue); ok {
				cluster.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota = resource.MustParse("32")
				cluster.Status.FlavorsReservation[0].Resources[0].Total = resource.MustParse("24")
			}
		}
	}
	r := Reserve(reserving, Cluster{
		Now: now, State: state, Jobs: []Job{bert, short, large, small},
	}, Reserves{})
	if b := r.Backfills[small.ref()]; r.Ungated[small.ref()] || b == nil || b.Held == nil {
		t.Errorf("all 32 GPUs are in use, and 8 seem to be free: %+v", b)
	}
}

// TestGatesOf: what one Workload shows holds for all.
func TestGatesOf(t *testing.T) {
	jobs := []Job{jobOf("a", 5, 1, gated(scheduler.GateClosed, 8)), jobOf("b", 5, 1, gated("", 8))}
	r := &reserver{}
	if got := r.gatesOf("kueue", jobs); got != "" {
		t.Errorf("unknown: %q", got)
	}
	jobs[1].Contest.AdmissionGate = scheduler.GateBlocks
	if got := r.gatesOf("kueue", jobs); got != scheduler.GateBlocks {
		t.Errorf("one blocks: %q", got)
	}
	jobs[0].Contest.AdmissionGate = scheduler.GateIgnored
	if got := r.gatesOf("kueue", jobs); got != scheduler.GateIgnored {
		t.Errorf("one is ignored: %q", got)
	}
}

package meter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
)

// TestPlansAreCounted: each plan once, by what comes of it; each victim once; what they lost.
func TestPlansAreCounted(t *testing.T) {
	waits := func(phase v1alpha1.PreemptionPhase, round int32) v1alpha1.TrainingJobStatus {
		s := inQueue(v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued, Attempt: 1})
		at := metav1.NewTime(jobtest.Start.Add(-20 * time.Second))
		s.Scheduling.Preemption = &v1alpha1.PreemptionStatus{Phase: phase, Round: round, BlockedTime: &at}
		return s
	}
	then := func(phase v1alpha1.Phase, cause v1alpha1.DrainCause) v1alpha1.TrainingJobStatus {
		s := inQueue(v1alpha1.TrainingJobStatus{Phase: phase, Attempt: 1})
		if cause != "" {
			s.Drain = &v1alpha1.DrainStatus{Cause: cause}
		}
		return s
	}
	ahead := func(id string) v1alpha1.TrainingJobStatus {
		s := then(v1alpha1.PhaseRunning, "")
		s.Checkpoint = &v1alpha1.CheckpointStatus{Ahead: &v1alpha1.SaveAheadStatus{CommandID: id}}
		return s
	}
	victim := then(v1alpha1.PhaseDraining, v1alpha1.CauseBrokered)
	victim.Drain.MakesRoom = &v1alpha1.MakesRoomStatus{Mode: v1alpha1.PreemptionSave, LossGPUSeconds: 240}
	gone := inQueue(v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued, Attempt: 2})
	gone.Work = &v1alpha1.WorkStatus{PreemptedLostGPUSeconds: 30}
	asking := waits(v1alpha1.PreemptionAsking, 1)
	unseen := waits(v1alpha1.PreemptionHandedOver, 0)
	unseen.Scheduling.Preemption.Outcome = v1alpha1.PreemptionGateIgnored
	tests := map[string]struct {
		reason  string
		changes []change
		want    map[string]float64
	}{
		"placed": {"on the freed capacity; the delay counts from when the gang did not fit", []change{
			{asking, waits(v1alpha1.PreemptionPlacing, 1)},
			{waits(v1alpha1.PreemptionPlacing, 1), then(v1alpha1.PhaseRunning, "")},
		}, map[string]float64{"plans_total[outcome=Placed]": 1, "delay_seconds[]": 80}},
		"another round": {"another gang has taken the capacity", []change{
			{asking, waits(v1alpha1.PreemptionAsking, 2)},
		}, map[string]float64{"room_stolen_total[]": 1}},
		"handed over": {"with a plan", []change{
			{asking, then(v1alpha1.PhaseDraining, v1alpha1.CauseHandOver)},
			{then(v1alpha1.PhaseDraining, v1alpha1.CauseHandOver), waits(v1alpha1.PreemptionHandedOver, 0)},
		}, map[string]float64{"plans_total[outcome=HandedOver]": 1}},
		"handed over at once": {"without one", []change{
			{then(v1alpha1.PhaseQueued, ""), then(v1alpha1.PhaseDraining, v1alpha1.CauseHandOver)},
		}, map[string]float64{"plans_total[outcome=HandedOver]": 1}},
		"revoked": {"it is suspended", []change{
			{asking, then(v1alpha1.PhaseSuspended, "")},
		}, map[string]float64{"plans_total[outcome=Revoked]": 1}},
		"handed over before": {"the attempt after that is no plan", []change{
			{waits(v1alpha1.PreemptionHandedOver, 0), then(v1alpha1.PhaseRunning, "")},
		}, map[string]float64{}},
		"gate opened": {"in the same attempt, and once", []change{
			{asking, waits(v1alpha1.PreemptionHandedOver, 0)},
			{waits(v1alpha1.PreemptionHandedOver, 0), waits(v1alpha1.PreemptionHandedOver, 0)},
		}, map[string]float64{"plans_total[outcome=HandedOver]": 1}},
		"gate ignored": {"by its scheduler", []change{{then(v1alpha1.PhaseQueued, ""), unseen}},
			map[string]float64{"plans_total[outcome=GateIgnored]": 1}},
		"asked to save ahead": {"once for each request", []change{
			{then(v1alpha1.PhaseRunning, ""), ahead("a")}, {ahead("a"), ahead("a")}, {ahead("a"), ahead("b")},
		}, map[string]float64{"saves_ahead_total[]": 2}},
		"a victim": {"counts when it begins to end, and what it lost when that is known", []change{
			{then(v1alpha1.PhaseRunning, ""), victim}, {victim, victim}, {victim, gone},
		}, map[string]float64{
			"victims_total[mode=Save]": 1, "estimated_gpu_seconds_total[]": 240, "lost_gpu_seconds_total[]": 30,
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]float64{}
			for series, n := range countAll(t, tc.changes...) {
				if short, of := strings.CutPrefix(series, "preemption_"); of {
					got[short] = n
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

package explain

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func reserved(r *v1alpha1.ReservationStatus, b *v1alpha1.BackfillStatus) Explanation {
	return Of(job(func(j *v1alpha1.TrainingJob) {
		waiting(nil)(j)
		j.Status.Scheduling.Reservation, j.Status.Scheduling.Backfill = r, b
	}), now)
}

// TestReservationSummaries: each phase, reason and pass has a sentence, those of a later version their name.
func TestReservationSummaries(t *testing.T) {
	at := metav1.NewTime(now.Add(time.Hour))
	nodes := []string{"a", "b"}
	for name, c := range map[string]struct {
		status v1alpha1.ReservationStatus
		want   string
	}{
		"planned": {
			v1alpha1.ReservationStatus{Phase: v1alpha1.ReservationPlanned, Nodes: nodes}, "would keep 2 nodes",
		},
		"kept": {v1alpha1.ReservationStatus{Phase: v1alpha1.ReservationKept, GPUs: 8}, "keeps quota (8 GPUs)"},
		"due": {
			v1alpha1.ReservationStatus{Phase: v1alpha1.ReservationDue, Nodes: nodes[:1]}, "keeps 1 node for",
		},
		"too old":   {lapsedFor(v1alpha1.ReservationTooOld), "backfill.maxAgeSeconds"},
		"not fit":   {lapsedFor(v1alpha1.ReservationDoesNotFit), "backfill.maxSharePercent"},
		"ignored":   {lapsedFor(v1alpha1.ReservationGateIgnored), "AdmissionGatedBy"},
		"new why":   {lapsedFor("Later"), "Later"},
		"new phase": {v1alpha1.ReservationStatus{Phase: "Later"}, "Later"},
	} {
		t.Run(name, func(t *testing.T) {
			c.status.Time = &at
			r := reserved(&c.status, nil).Reservation
			if !strings.Contains(r.Summary, c.want) {
				t.Errorf("summary %q, want %q", r.Summary, c.want)
			}
			if lapsed := c.status.Phase == v1alpha1.ReservationLapsed; (r.Time == nil) != lapsed {
				t.Errorf("it starts at %v", r.Time)
			}
		})
	}
	for how, want := range map[v1alpha1.BackfillHow]string{
		v1alpha1.BackfillOtherNodes: "does not use", v1alpha1.BackfillEndsBefore: "ends before",
		v1alpha1.BackfillIsLent: "is lent", "Later": "Later", "": "waited because",
	} {
		b := reserved(nil, &v1alpha1.BackfillStatus{How: how}).Backfill
		if !strings.Contains(b.Summary, want) {
			t.Errorf("%q: summary %q, want %q", how, b.Summary, want)
		}
	}
}

func lapsedFor(why v1alpha1.ReservationReason) v1alpha1.ReservationStatus {
	return v1alpha1.ReservationStatus{Phase: v1alpha1.ReservationLapsed, Reason: why}
}

// TestHeldSeconds counts the present hold and those before.
func TestHeldSeconds(t *testing.T) {
	since := metav1.NewTime(now.Add(-time.Minute))
	b := reserved(nil, &v1alpha1.BackfillStatus{HeldSinceTime: &since, HeldSeconds: 30}).Backfill
	if b.HeldSeconds != 90 || !strings.Contains(b.Summary, "waits because") {
		t.Errorf("%+v", b)
	}
	if e := reserved(nil, nil); e.Reservation != nil || e.Backfill != nil {
		t.Errorf("without a reservation: %+v", e)
	}
}

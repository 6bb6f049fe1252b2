package observation

import (
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Backfill is the planner's decision about a queued job, by the reservations of its lane. Read-only. The zero
// Backfill removes what is written.
type Backfill struct {
	// Reservation and Pass that the status should have; nil: none. They take effect once they are written.
	Reservation *v1alpha1.ReservationStatus
	Pass        *v1alpha1.BackfillStatus
	// Held is set if the gang must not start, since another one goes first.
	Held *Held
}

// Held is the reservation that holds a gang back.
type Held struct {
	// Name of the job that goes first; empty if it is in another namespace.
	Name string
	// Nodes that are kept for it; 0: it only waits for quota.
	Nodes int
	// Time when it probably starts; zero: unknown.
	Time time.Time
}

// IsWritten reports whether the status of a job has the reservation and the pass.
func (b *Backfill) IsWritten(st *v1alpha1.TrainingJobStatus) bool {
	s := st.Scheduling
	if s == nil {
		return b.Reservation == nil && b.Pass == nil
	}
	return apiequality.Semantic.DeepEqual(s.Reservation, b.Reservation) &&
		apiequality.Semantic.DeepEqual(s.Backfill, b.Pass)
}

// AwaitsPass reports whether the gang passes a reservation and its status does not show yet how.
func (b *Backfill) AwaitsPass(st *v1alpha1.TrainingJobStatus) bool {
	written := v1alpha1.BackfillStatus{}
	if s := st.Scheduling; s != nil && s.Backfill != nil {
		written = *s.Backfill
	}
	return b.Pass != nil && b.Pass.How != "" && b.Pass.How != written.How || b.MovesOff(st)
}

// MovesOff reports whether the nodes that the pods avoid differ from those in the status.
func (b *Backfill) MovesOff(st *v1alpha1.TrainingJobStatus) bool {
	var written, next []string
	if s := st.Scheduling; s != nil && s.Backfill != nil {
		written = s.Backfill.KeepsOff
	}
	if b.Pass != nil {
		next = b.Pass.KeepsOff
	}
	return !slices.Equal(written, next)
}

package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// testLeases: one holder has a lease at a time, until it gives it back or the lease has run out.
func testLeases(t *testing.T, b backend) {
	dsn := b.database(t)
	s, other := open(t, dsn), open(t, dsn)
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	acquire := func(s *Store, name, holder string, now time.Time, want bool) {
		t.Helper()
		has, err := s.AcquireLease(t.Context(), name, holder, now, now.Add(time.Minute))
		must(t, err)
		if has != want {
			t.Errorf("%s has %s: %t", holder, name, has)
		}
	}
	acquire(s, "mlflow", "a", now, true)
	acquire(other, "mlflow", "b", now.Add(time.Minute-time.Millisecond), false)
	acquire(other, "another", "b", now, true)
	acquire(s, "mlflow", "a", now.Add(30*time.Second), true)
	acquire(other, "mlflow", "b", now.Add(89*time.Second), false)
	acquire(other, "mlflow", "b", now.Add(90*time.Second), true)
	acquire(s, "mlflow", "a", now.Add(91*time.Second), false)
	must(t, s.ReleaseLease(t.Context(), "mlflow", "a")) // which it no longer has
	acquire(s, "mlflow", "a", now.Add(91*time.Second), false)
	must(t, other.ReleaseLease(t.Context(), "mlflow", "b"))
	acquire(s, "mlflow", "a", now.Add(91*time.Second), true)

	var holders atomic.Int32
	var all sync.WaitGroup
	for _, holder := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			has, err := s.AcquireLease(t.Context(), "contested", holder, now, now.Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			if has {
				holders.Add(1)
			}
		})
	}
	all.Wait()
	if n := holders.Load(); n != 1 {
		t.Errorf("%d holders", n)
	}
}

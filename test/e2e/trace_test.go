//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"strconv"
)

// line of the log that rank 0 of a trainer writes.
type line struct {
	Attempt int32  `json:"attempt"`
	Event   string `json:"event"`
	Step    int64  `json:"step"`
	// Loss is a hexadecimal float, which is exact; Weights is the SHA-256 of the final weights.
	Loss    string `json:"loss"`
	Weights string `json:"weights"`
	// Why says why a checkpoint was saved.
	Why string `json:"why"`
}

// resumedExactly compares the trace of an interrupted training with that of an uninterrupted one: every
// attempt continues with the step after its resume point, no step that the checkpoint contains is trained
// again, and every loss and the final weights are equal bit for bit. points are the steps from which the
// attempts after the first resumed, if they trained anything.
func resumedExactly(whole, interrupted []line, steps int64, points map[int32]int64) error {
	return resumedWithin(0, whole, interrupted, steps, points)
}

// resumedWithin is as resumedExactly for a tolerance of 0. Otherwise losses may differ by this share, and
// weights are not compared.
func resumedWithin(
	tolerance float64, whole, interrupted []line, steps int64, points map[int32]int64,
) error {
	losses, weights := map[int64]string{}, ""
	for _, l := range whole {
		switch l.Event {
		case "step":
			losses[l.Step] = l.Loss
		case "end":
			weights = l.Weights
		}
	}
	if int64(len(losses)) != steps || weights == "" {
		return fmt.Errorf("the training to compare with has %d of %d steps", len(losses), steps)
	}
	next := map[int32]int64{1: 1}
	for attempt, point := range points {
		if point <= 0 || point >= steps {
			return fmt.Errorf("attempt %d resumes from step %d of %d: nothing is proven", attempt, point, steps)
		}
		next[attempt] = point + 1
	}
	seen, trained, end := map[int32]bool{}, map[int64]bool{}, line{}
	for _, l := range interrupted {
		if l.Event == "end" {
			end = l
		}
		if l.Event != "step" {
			continue
		}
		want, known := next[l.Attempt]
		if !known || l.Step != want {
			return fmt.Errorf("attempt %d trains step %d where step %d should be", l.Attempt, l.Step, want)
		}
		if !equalLosses(l.Loss, losses[l.Step], tolerance) {
			return fmt.Errorf("step %d of attempt %d has the loss %s, uninterrupted %s", l.Step, l.Attempt,
				l.Loss, losses[l.Step])
		}
		next[l.Attempt]++
		seen[l.Attempt], trained[l.Step] = true, true
	}
	switch {
	case len(seen) != len(points)+1:
		return fmt.Errorf("%d attempts have trained, not %d", len(seen), len(points)+1)
	case int64(len(trained)) != steps:
		return fmt.Errorf("%d of %d steps are trained", len(trained), steps)
	case tolerance == 0 && end.Weights != weights:
		return fmt.Errorf("the weights are %q in the end, uninterrupted %q", end.Weights, weights)
	}
	return nil
}

// reached returns the last step that an attempt trained.
func reached(lines []line, attempt int32) (step int64) {
	for _, l := range lines {
		if l.Attempt == attempt && l.Event == "step" {
			step = max(step, l.Step)
		}
	}
	return step
}

// equalLosses reports whether a loss differs by at most the share of tolerance.
func equalLosses(got, want string, tolerance float64) bool {
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(want, 64)
	return got == want || errA == nil && errB == nil && math.Abs(a-b) <= tolerance*math.Abs(b)
}

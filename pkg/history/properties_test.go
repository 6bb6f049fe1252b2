package history

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history/historytest"
)

const histories = 100

// TestOrderDoesNotMatter: however versions are ordered, repeated and grouped, the record is the same.
func TestOrderDoesNotMatter(t *testing.T) {
	for seed := range uint64(histories) {
		l := play(seed)
		rng := rand.New(rand.NewPCG(seed, 8))
		want := joined(l.records()...)
		for range 3 {
			rs := l.records()
			for range rng.IntN(10) {
				rs = append(rs, rs[rng.IntN(len(rs))])
			}
			rng.Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
			if diff := cmp.Diff(want, grouped(rng, rs)); diff != "" {
				t.Fatalf("seed %d: another order makes another record (-want +got):\n%s", seed, diff)
			}
		}
	}
}

// grouped merges pairs at random until one record is left, some after a way through JSON, as a database has
// them.
func grouped(rng *rand.Rand, rs []Record) Record {
	for len(rs) > 1 {
		i := rng.IntN(len(rs) - 1)
		merged := Merge(rs[i], rs[i+1])
		if rng.IntN(3) == 0 {
			merged = throughJSON(merged)
		}
		rs[i] = merged
		rs = slices.Delete(rs, i+1, i+2)
	}
	return rs[0]
}

func throughJSON(r Record) Record {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var back Record
	if err := json.Unmarshal(text, &back); err != nil {
		panic(err)
	}
	return back
}

// TestMergeIsAJoin holds for any two or three records, of which each knows some versions.
func TestMergeIsAJoin(t *testing.T) {
	for seed := range uint64(histories) {
		l := play(seed)
		rng := rand.New(rand.NewPCG(seed, 9))
		a, b, c := l.some(rng), l.some(rng), l.some(rng)
		for law, sides := range map[string][2]Record{
			"commutative": {Merge(a, b), Merge(b, a)},
			"associative": {Merge(Merge(a, b), c), Merge(a, Merge(b, c))},
			"idempotent":  {Merge(a, a), a},
			"absorbing":   {Merge(a, Merge(a, b)), Merge(a, b)},
			"neutral":     {Merge(a, Record{}), Merge(Record{}, a)},
		} {
			if diff := cmp.Diff(sides[0], sides[1]); diff != "" {
				t.Fatalf("seed %d: it is not %s:\n%s", seed, law, diff)
			}
		}
	}
}

// some is what is known from some versions, by a replica that may not see nodes, and perhaps of the deletion.
func (l played) some(rng *rand.Rand) Record {
	o := options
	if rng.IntN(2) == 0 {
		o.GPUKind = func(*v1alpha1.TrainingJob) string { return "nvidia.com/gpu" }
	}
	if rng.IntN(4) == 0 {
		o.UserKeys = nil
	}
	if rng.IntN(2) == 0 {
		o.NamespaceUID = func(*v1alpha1.TrainingJob) types.UID { return "ns" }
	}
	share := rng.Float64()
	var r Record
	for _, v := range l.Versions {
		if rng.Float64() < share {
			r = Merge(r, Of("lab", v, o))
		}
	}
	key := Key{Cluster: "lab", UID: l.last().UID}
	at := l.End.AddDate(0, 0, rng.IntN(3))
	switch rng.IntN(6) {
	case 0:
		r = Merge(r, Gone(key, &at, nil))
	case 1:
		r = Merge(r, Gone(key, nil, &at))
	}
	return r
}

// TestWhatIsLostIsNotMadeUp: from some versions of which the latest is one, the job is as if all had been
// seen, and all else is a part of that.
func TestWhatIsLostIsNotMadeUp(t *testing.T) {
	for seed := range uint64(histories) {
		l := play(seed)
		rng := rand.New(rand.NewPCG(seed, 10))
		rs := l.records()
		all, last := joined(rs...), rs[len(rs)-1]
		share := rng.Float64()
		some := joined(append(slices.DeleteFunc(rs, func(Record) bool { return rng.Float64() > share }), last)...)
		if diff := cmp.Diff(all, Merge(all, some)); diff != "" {
			t.Fatalf("seed %d: less knowledge adds something:\n%s", seed, diff)
		}
		want, got := all.Job, some.Job
		want.GPUKind, got.GPUKind = "", "" // the product is known from versions that ran
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: another job:\n%s", seed, diff)
		}
		l.holds(t, some)
		l.isWhole(t, all)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// holds compares all that a record says with what was so.
func (l played) holds(t *testing.T, r Record) {
	t.Helper()
	for _, got := range r.Transitions {
		if got.Attempt > 0 && !slices.ContainsFunc(l.transitions, func(was Transition) bool {
			was.Nth = got.Nth // of those that are alike, the status may have dropped the first
			return was == got
		}) {
			t.Errorf("no such transition: %+v", got)
		}
	}
	of := ofAttempts(l.transitions)
	for _, a := range r.Attempts {
		was := Attempt{Number: a.Number}
		concludeTimes(&was, of)
		if a.Started != nil && !a.Started.Equal(*was.Started) || a.Ended != nil && !a.Ended.Equal(*was.Ended) {
			t.Errorf("attempt %d: %v to %v, it was %v to %v", a.Number, a.Started, a.Ended, was.Started, was.Ended)
		}
		if reason := l.Truth.Reasons[a.Number]; a.EndReason != "" && a.EndReason != reason &&
			a.EndPhase != v1alpha1.PhaseDraining {
			t.Errorf("attempt %d ended for %s, not for %s", a.Number, reason, a.EndReason)
		}
		if a.Seen && !slices.Contains(l.Truth.GPUs[a.Number], a.GPUs) {
			t.Errorf("attempt %d had %v GPUs, never %d", a.Number, l.Truth.GPUs[a.Number], a.GPUs)
		}
		if a.Lost != nil && *a.Lost != Loss(l.Truth.Lost[a.Number]) {
			t.Errorf("attempt %d lost %v, not %v", a.Number, l.Truth.Lost[a.Number], *a.Lost)
		}
	}
	for _, p := range r.Preemptions {
		message, was := l.Truth.Preempted[p.Attempt]
		if !was || p.Message != "" && p.Message != message || p.Reason != l.Truth.Reasons[p.Attempt] {
			t.Errorf("preemption %+v; it was %q, %t", p, message, was)
		}
		if p.Lost != nil && *p.Lost != Loss(l.Truth.Lost[p.Attempt]) {
			t.Errorf("the preemption of attempt %d cost %v, not %v", p.Attempt, l.Truth.Lost[p.Attempt], *p.Lost)
		}
		if was := l.answer(p.Attempt); p.Answer != "" && p.Answer != was {
			t.Errorf("attempt %d answered %s, not %s", p.Attempt, was, p.Answer)
		}
	}
	l.addsUp(t, r)
	for _, s := range r.Samples {
		if !l.Truth.Sampled[s.Attempt][s.Step] {
			t.Errorf("attempt %d reported no step %d", s.Attempt, s.Step)
		}
	}
}

// answer of an attempt that yielded to another; empty for any other.
func (l played) answer(attempt int32) Answer {
	y, yielded := l.Truth.Yielded[attempt]
	switch {
	case !yielded:
		return ""
	case y.Saved > 0:
		return AnswerSaved
	case y.Asked > 0:
		return AnswerInVain
	}
	return AnswerNotAsked
}

// addsUp: even with few versions all counts of the job are reported, and none exceeds its attempt.
func (l played) addsUp(t *testing.T, r Record) {
	t.Helper()
	var lost Loss
	var yielded Yielded
	for _, e := range r.Endings() {
		lost.Steps += e.Lost.Steps
		lost.Seconds += e.Lost.Seconds
		lost.GPUSeconds += e.Lost.GPUSeconds
		yielded.Asked += e.Yielded.Asked
		yielded.Saved += e.Yielded.Saved
		yielded.LostGPUSeconds += e.Yielded.LostGPUSeconds
	}
	var freed FreedCapacity
	for _, p := range r.Grants() {
		freed.Made += p.Freed.Made
		freed.Seconds += p.Freed.Seconds
		if p.Attempt > r.Job.Attempt {
			t.Errorf("freed capacity for attempt %d of %d", p.Attempt, r.Job.Attempt)
		}
	}
	if w := r.Job.Work; lost != lossOf(w) || yielded != yieldedOf(w) || freed != freedOf(w) {
		t.Errorf("it tells of %+v, %+v and %+v; the job has counted %+v", lost, yielded, freed, w)
	}
}

// isWhole: nothing is missing where every version was seen.
func (l played) isWhole(t *testing.T, r Record) {
	t.Helper()
	want := slices.Clone(l.transitions)
	if len(want) == 0 {
		want = nil
	}
	if diff := cmp.Diff(want, r.Transitions); diff != "" {
		t.Errorf("transitions (-happened +recorded):\n%s", diff)
	}
	messages := map[int32]string{}
	for _, p := range r.Preemptions {
		messages[p.Attempt] = p.Message
		if p.Answer != l.answer(p.Attempt) {
			t.Errorf("attempt %d answered %s, the record says %s", p.Attempt, l.answer(p.Attempt), p.Answer)
		}
	}
	freed := map[int32]historytest.FreedCapacity{}
	for _, p := range r.Grants() {
		freed[p.Attempt] = historytest.FreedCapacity(p.Freed)
	}
	if diff := cmp.Diff(l.Truth.Freed, freed); diff != "" {
		t.Errorf("freed capacity (-happened +recorded):\n%s", diff)
	}
	if diff := cmp.Diff(l.Truth.Preempted, messages); diff != "" {
		t.Errorf("preemptions (-happened +recorded):\n%s", diff)
	}
	for _, a := range r.Attempts {
		if loss, ended := l.Truth.Lost[a.Number]; ended && (a.Lost == nil || *a.Lost != Loss(loss)) {
			t.Errorf("attempt %d lost %v, the record says %v", a.Number, loss, a.Lost)
		}
	}
	if len(r.Attempts) != len(l.Truth.GPUs) {
		t.Errorf("%d attempts, of which %d are recorded", len(l.Truth.GPUs), len(r.Attempts))
	}
	for attempt, steps := range l.Truth.Sampled {
		n := 0
		for _, s := range r.Samples {
			if s.Attempt == attempt {
				n++
			}
		}
		if n != min(len(steps), MaxSamples) {
			t.Errorf("attempt %d reported %d steps, of which %d are recorded", attempt, len(steps), n)
		}
	}
}

// TestThinning: more samples than are kept, in any order and grouping, leave the same ones, spread over all.
func TestThinning(t *testing.T) {
	for name, step := range map[string]func(i int64) int64{
		"every step":            func(i int64) int64 { return i },
		"steps of one residue":  func(i int64) int64 { return 1 + 100*i },
		"powers of two apart":   func(i int64) int64 { return i << 20 },
		"one more than is kept": func(i int64) int64 { return i % (MaxSamples + 1) },
		"just what is kept":     func(i int64) int64 { return i % MaxSamples },
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 11))
			var all []Sample
			for i := range int64(5000) {
				all = append(all, Sample{Attempt: 1, Step: step(i), Time: epoch})
			}
			want := joinSamples(all, nil)
			if len(want) > MaxSamples || len(want) < MaxSamples-2 {
				t.Fatalf("%d samples are kept", len(want))
			}
			for range 5 {
				rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				var got []Sample
				for rest := all; len(rest) > 0; {
					n := min(len(rest), 1+rng.IntN(700))
					got = joinSamples(got, joinSamples(rest[:n], nil))
					rest = rest[n:]
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("the order matters:\n%s", diff)
				}
			}
			first, last := want[0].Step, want[len(want)-1].Step
			if first != step(0) {
				t.Errorf("the first sample is of step %d", first)
			}
			for i := 1; i < len(want); i++ {
				if gap := want[i].Step - want[i-1].Step; gap > (last-first)/MaxSamples*5+2 {
					t.Errorf("nothing is kept between the steps %d and %d", want[i-1].Step, want[i].Step)
				}
			}
		})
	}
}

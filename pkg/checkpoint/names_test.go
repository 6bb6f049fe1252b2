package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

// What the known trainers write, and what merely looks like a step.
func TestStepOf(t *testing.T) {
	for name, want := range map[string]int64{
		"step-0000012000": 12000, "step_100": 100, "step100": 100, "global_step7": 7, "globalstep7": 7,
		"iter_0000100": 100, "iteration-3": 3, "100": 100, "0000100": 100, "train_step-5": 5,
		"epoch=3-step=1200.ckpt": 1200, "epoch=3-step=1200-v2.ckpt": 1200, // Lightning
		"megatron_gpt--val_loss=2.34-step=1000-consumed_samples=256000.0-last": 1000, // NeMo
		"checkpoint-500": 500, "tmp-checkpoint-500": 500, // Hugging Face
		"ckpt-200": 200, "model.ckpt-200": 200, "ckpt_200": 200, // TensorFlow, Orbax with a prefix
		"step_1000_of_5000": 1000, "iter_0000100_of_0005000": 100, "step-100.weights.h5": 100,

		"model.weights.h5": noStep, "epoch-3": noStep, "final": noStep, "attempt-2": noStep, "v2": noStep,
		"step-99999999999999999999": noStep, "20261121-235900": noStep, "ckpt-2026-11-30": noStep,
		"ckpt_1000_of_5000": noStep, "step-2026-11-30": noStep, "step-20261121-235900": noStep,
		"model-0200.keras": noStep, "03-001200-0.23": noStep, "epoch_checkpoint_3": noStep,
		"epoch3-ckpt-200": noStep, "checkpoint-epoch-3": noStep, "weights.10-0.23.keras": noStep,
		"accumulate_step=4-step=100": noStep, "microstep=4": noStep, "": noStep, "-5": noStep,
	} {
		if got := stepOf(name); got != want {
			t.Errorf("stepOf(%q) = %d, want %d", name, got, want)
		}
	}
}

// savedAt puts complete checkpoints of torch DCP, whose step is in the directory's name, into a tree: one
// minute apart, in the order of the names.
func savedAt(names ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i, name := range names {
		for file, content := range dcpTree().under(name).fs() {
			content.ModTime = time.Date(2026, 11, 21, 0, i, 0, 0, time.UTC)
			fsys[file] = content
		}
	}
	return fsys
}

// The names of the finding: the last number in them falls, or says nothing, while training goes on.
func TestNamesThatOnlyLookOrdered(t *testing.T) {
	for reason, names := range map[string][]string{
		"a date and a time, over midnight": {"20261121-235900", "20261122-000500"},
		"dates, over the end of a month":   {"ckpt-2026-11-30", "ckpt-2026-12-01"},
		"so many of so many":               {"ckpt_4000_of_5000", "ckpt_1000_of_5000"},
	} {
		t.Run(reason, func(t *testing.T) {
			found, err := Scan(savedAt(names...), ".", Options{})
			if err != nil {
				t.Fatal(err)
			}
			newest := names[len(names)-1]
			if c := Choose(found, nil); c.Point == nil || c.Point.Path != newest || c.Point.Step != 0 {
				t.Errorf("resumes from %+v, want %s, which was committed last", c.Point, newest)
			}
			if gone := Retain(found, Keep{Last: 1, Attempt: 1}); len(gone) > 0 {
				t.Errorf("deletes %v", paths(gone))
			}
		})
	}
}

// A known step decides before a time does, and what was committed after it and cannot be ordered is named.
func TestAStepOutranksATime(t *testing.T) {
	found, err := Scan(savedAt("step-100", "final"), ".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := Choose(found, nil)
	if c.Point == nil || c.Point.Path != "step-100" {
		t.Errorf("resumes from %+v", c.Point)
	}
	if len(c.PassedOver) != 1 || c.PassedOver[0].Path != "final" || c.PassedOver[0].Why == "" {
		t.Errorf("passes over %+v", c.PassedOver)
	}
}

// randomName is a name that a program might give to a checkpoint, whether or not it follows any order.
func randomName(r *rand.Rand) string {
	n := func(max int) int { return r.IntN(max) }
	switch r.IntN(9) {
	case 0:
		return fmt.Sprintf("step-%d", n(50))
	case 1:
		return fmt.Sprintf("2026%02d%02d-%02d%02d00", 1+n(12), 1+n(28), n(24), n(60))
	case 2:
		return fmt.Sprintf("ckpt-2026-%02d-%02d", 1+n(12), 1+n(28))
	case 3:
		return fmt.Sprintf("ckpt_%d_of_5000", n(5000))
	case 4:
		return fmt.Sprintf("epoch=%d-step=%d", n(5), n(50))
	case 5:
		return fmt.Sprint(n(60))
	case 6:
		return fmt.Sprintf("epoch-%d", n(9))
	case 7:
		return fmt.Sprintf("run%d-loss-0.%02d", n(3), n(100))
	}
	return fmt.Sprintf("step_%d_of_%d", n(50), 50)
}

// On random trees of names, saved in a random order over several attempts: what was committed last stays,
// what cannot be ordered stays, and the resume point stays what it was.
func TestRetainOnRandomNames(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 11))
		var names []string
		for attempt := range 1 + r.IntN(3) {
			for range r.IntN(6) {
				if name := AttemptDir(int32(attempt+1)) + "/" + randomName(r); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		fsys := savedAt(names...)
		found, err := Scan(fsys, ".", Options{})
		if err != nil {
			t.Fatal(err)
		}
		keep := Keep{Last: 1 + r.IntN(3), Attempt: 3}
		gone := Retain(found, keep)
		for _, f := range gone {
			if f.Path == names[len(names)-1] || f.Step < 0 {
				t.Fatalf("seed %d, %+v: deletes %+v of %v", seed, keep, f, names)
			}
			for file := range fsys {
				if within(file, f.Path) {
					delete(fsys, file)
				}
			}
		}
		left, err := Scan(fsys, ".", Options{})
		if err != nil && len(fsys) > 0 {
			t.Fatal(err)
		}
		before, after := Choose(found, nil).Point, Choose(left, nil).Point
		if (before == nil) != (after == nil) || before != nil && *before != *after {
			t.Fatalf("seed %d: the resume point of %v was %+v and is %+v", seed, names, before, after)
		}
	}
}

// A clock that jumped back makes the times useless: what the agent saw become complete last is kept too.
func TestRetainKeepsWhatWasSeenLast(t *testing.T) {
	five := foundAll("1/10 Complete", "1/20 Complete", "1/30 Complete", "1/40 Complete")
	gone := paths(Retain(five, Keep{Last: 1, Attempt: 1, Committed: []string{"attempt-1/step-10"}}))
	if !slices.Equal(gone, []string{"attempt-1/step-20", "attempt-1/step-30"}) {
		t.Errorf("deletes %v", gone)
	}
}

package checkpoint

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

func deepSpeedAt(dir string, step int) tree {
	return deepSpeedTree(step, 1, 1).and(tree{"latest": fmt.Appendf(nil, "global_step%d", step)}).under(dir)
}

// The save is the unit of a choice: these are the examples of the findings, and what only looks like them.
func TestASaveIsJudgedWithAllItsParts(t *testing.T) {
	actor, critic := "attempt-1/_actor", "attempt-1/_critic"
	both := deepSpeedAt(actor, 20).and(deepSpeedAt(critic, 20))
	cutCritic := deepSpeedAt(critic, 30).with(
		critic+"/global_step30/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", torchSave(nil)[:100])
	fsdp := dcpTree().under("checkpoint_1/model_fsdp_0").and(dcpTree().under("checkpoint_1/optimizer_0"))
	two := fsdp.and(dcpTree().under("checkpoint_2/model_fsdp_0"))
	hf := fixtures()["Hugging Face"]
	keras := tree{"a/step-10.keras": kerasOf(), "b/step-10.keras": kerasOf(), "a/step-20.keras": kerasOf()}
	tests := map[string]struct {
		files tree
		path  string
		step  int64
		torn  int
	}{
		"siblings, both whole": {
			both.and(deepSpeedAt(actor, 30), deepSpeedAt(critic, 30)), actor + "/global_step30", 30, 0,
		},
		"siblings, one cut": {both.and(deepSpeedAt(actor, 30), cutCritic), actor + "/global_step20", 20, 1},
		"siblings, one missing": {
			both.and(deepSpeedAt(actor, 30)), actor + "/global_step20", 20, 1,
		},
		"siblings, one missing in the next attempt": {
			both.and(deepSpeedAt("attempt-2/_actor", 30)), actor + "/global_step20", 20, 1,
		},
		"siblings of a layout of one file": {keras, "a/step-10.keras", 10, 1},
		"parts below the step":             {fsdp, "checkpoint_1", 1, 0},
		"parts below the step, the first cut": {
			fsdp.with("checkpoint_1/model_fsdp_0/__0_0.distcp", weights[:9]), "", 0, 1,
		},
		"parts below the step, the second cut": {
			fsdp.with("checkpoint_1/optimizer_0/__0_0.distcp", weights[:9]), "", 0, 1,
		},
		"parts below the step, one missing": {two, "checkpoint_1", 1, 1},
		"numbered parts": {
			dcpTree().under("step_100/0").and(dcpTree().under("step_100/1")), "step_100", 100, 0,
		},
		"one part below the step": {dcpTree().under("step_100/model"), "step_100", 100, 0},
		"torch.save files beside a part": {
			dcpTree().under("step_100/model").and(tree{"step_100/rng.pt": torchSave(nil)}), "step_100", 100, 0,
		},
		"no step is never preferred": {
			dcpTree().under("step_100").and(dcpTree().under("final")), "step_100", 100, 0,
		},
		"attempts are separate": {
			dcpTree().under("attempt-1/step_20").and(dcpTree().with(".metadata", nil).under("attempt-2/step_20")),
			"attempt-1/step_20", 20, 1,
		},
		"steps of the Trainer": {hf.files.and(hf.older), "checkpoint-200", 200, 0},
		"DeepSpeed in a directory of the step": {
			deepSpeedAt("checkpoint-200", 200), "checkpoint-200/global_step200", 200, 0,
		},
		"a copy of Lightning": {
			tree{"epoch=0-step=100.ckpt": torchSave(nil), "best/epoch=0-step=100.ckpt": torchSave(nil)[:50]},
			"epoch=0-step=100.ckpt", 100, 1,
		},
		"copies of the best saves": {
			dcpTree().under("step-100").and(dcpTree().under("best/step-100"), dcpTree().under("step-200"),
				dcpTree().under("step-300")), "step-300", 300, 0,
		},
		"a temporary directory of the same step": {
			hf.files.and(hfTree(200).under("tmp-checkpoint-200")), "checkpoint-200", 200, 1,
		},
		"torch.save files of one step": {
			tree{"model_step-100.pt": torchSave(nil), "optimizer_step-100.pt": torchSave(nil)[:40]}.and(
				dcpTree().under("step-100")), "step-100", 100, 1,
		},
		"a part that is no longer written": {
			retired(3), "actor/step-100", 100, 3,
		},
		"a part that is no longer written for long": {
			retired(4), "actor/step-140", 140, 3,
		},
		"fewer parts after the first save of the next attempt": {
			dcpTree().under("attempt-1/step-10/rank_0").and(dcpTree().under("attempt-1/step-10/rank_1"),
				dcpTree().under("attempt-2/step-20/rank_0"), dcpTree().under("attempt-2/step-30/rank_0")),
			"attempt-2/step-30", 30, 1,
		},
		"one series after another": {
			dcpTree().under("run_a/step-100").and(
				dcpTree().under("run_a/step-200"), dcpTree().under("run_b/step-300")),
			"run_b/step-300", 300, 0,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			found := scan(t, tc.files)
			c := Choose(found, nil)
			var torn int
			for _, f := range found {
				if f.State == Torn {
					torn++
				}
			}
			var got Point
			if c.Point != nil {
				got = *c.Point
			}
			if got.Path != tc.path || got.Step != tc.step || torn != tc.torn {
				t.Errorf("chose %+v, want %s of step %d and %d torn saves: %+v", got, tc.path, tc.step, tc.torn, found)
			}
		})
	}
}

// retired are 10 saves of two parts, and then some of the first part alone.
func retired(more int) tree {
	files := tree{}
	for step := range 10 + more {
		files = files.and(dcpTree().under(fmt.Sprintf("actor/step-%d", 10*(step+1))))
		if step < 10 {
			files = files.and(dcpTree().under(fmt.Sprintf("critic/step-%d", 10*(step+1))))
		}
	}
	return files
}

// keepLast 1, the first half of step 30 is whole: nothing is deleted until the other half is, and has
// settled.
func TestRetainCountsSaves(t *testing.T) {
	both := deepSpeedAt("_actor", 20).and(deepSpeedAt("_critic", 20))
	whole := both.and(deepSpeedAt("_actor", 30), deepSpeedAt("_critic", 30))
	sharded := dcpTree().under("epoch=0-step=10.ckpt").and(dcpTree().under("epoch=1-step=20.ckpt"),
		tree{"epoch=0-step=5.ckpt/latest": []byte("checkpoint")},
		dropDir(renamed(deepSpeedTree(5, 1, 1), "global_step5", "epoch=0-step=5.ckpt/checkpoint"), "none"))
	last := Keep{Last: 1, Attempt: 1}
	settled := Keep{Last: 1, Attempt: 1, MustSettle: true, Settled: []string{"_actor/global_step30"}}
	for name, tc := range map[string]struct {
		files tree
		keep  Keep
		want  []string
	}{
		"half of the next save": {both.and(deepSpeedAt("_actor", 30)), last, nil},
		"the next save": {
			whole, last, []string{"_actor/global_step20", "_critic/global_step20"},
		},
		"the next save has not settled": {whole, Keep{Last: 1, MustSettle: true}, nil},
		"the next save has settled": {
			whole, settled, []string{"_actor/global_step20", "_critic/global_step20"},
		},
		"one part is pinned":       {whole, Keep{Last: 1, Pinned: "_critic/global_step20"}, nil},
		"Lightning in directories": {sharded, last, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := scan(t, tc.files)
			var roots []string
			for _, f := range Retain(found, tc.keep) {
				roots = append(roots, f.Roots()...)
			}
			if !slices.Equal(roots, tc.want) {
				t.Errorf("deletes %v, want %v, of %+v", roots, tc.want, found)
			}
		})
	}
}

func renamed(files tree, from, to string) tree {
	out := tree{}
	for name, data := range files {
		out[strings.Replace(name, from, to, 1)] = data
	}
	return out
}

// randomSave is how a random program lays out its saves: in what directories it puts the 1 to 4 parts.
// carried: below a directory of the step.
type randomSave struct {
	names   []string
	carried bool
	parts   []fixture
}

// randomProgram lays out its saves in 1 to 4 parts of any layouts. Each .ckpt file of Lightning is a save
// of its own unless a directory joins it to others.
func randomProgram(r *rand.Rand, all map[string]fixture, names []string) (s randomSave, layouts []string) {
	s.carried = r.IntN(2) == 0
	for i := range 1 + r.IntN(4) {
		name := names[r.IntN(len(names))]
		isLightning := strings.HasPrefix(name, "Lightning")
		if all[name].path == "newest" || name == "Lightning last" || !s.carried && i > 0 && isLightning {
			name = "torch DCP"
		}
		if !s.carried && i > 0 && strings.HasPrefix(layouts[0], "Lightning") {
			break
		}
		layouts = append(layouts, name)
		s.names, s.parts = append(s.names, fmt.Sprintf("%c_part", 'a'+i)), append(s.parts, all[name])
	}
	return s, layouts
}

// at returns the files of the save of a step.
func (s randomSave) at(step int) tree {
	out := tree{}
	for i, part := range s.parts {
		for name, data := range renumbered(part.files, 200, step) {
			dir := s.names[i]
			if s.carried {
				dir = fmt.Sprintf("step_%d/%s", step, s.names[i])
			}
			out[dir+"/"+name] = data
		}
	}
	return out
}

// renumbered gives the files of a fixture another step, in the names and in the contents that tell one.
func renumbered(files tree, from, to int) tree {
	out := tree{}
	for name, data := range files {
		name = strings.ReplaceAll(name, fmt.Sprint(from), fmt.Sprint(to))
		if base := path.Base(name); base == hfState || base == "latest" || base == mgTracker ||
			base == ManifestName {
			data = []byte(strings.ReplaceAll(string(data), fmt.Sprint(from), fmt.Sprint(to)))
		}
		out[name] = data
	}
	return out
}

// Random programs save 1 to 4 parts of all layouts, below the step's directory or as siblings. One file of
// the newest save is cut. No part is chosen alone, and after retention the save before it is still there.
func TestNoPartIsChosenAlone(t *testing.T) {
	all := fixtures()
	names := slices.Sorted(maps.Keys(all))
	tried := 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 40))
		s, layouts := randomProgram(r, all, names)
		newest := s.at(300)
		cut, loose := cutOne(r, s, newest)
		if loose {
			continue
		}
		tried++
		files := s.at(100).and(s.at(200), cut)
		found, err := Scan(files.fs(), ".", Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := Choose(found, nil)
		if c.Point == nil || c.Point.Step != 200 {
			t.Fatalf("seed %d, %v, carried %t: chose %+v of %+v", seed, layouts, s.carried, c.Point, found)
		}
		checkRetained(t, fmt.Sprintf("seed %d, %v", seed, layouts), files, found, s)
	}
	if tried < 800 {
		t.Errorf("only %d cases were tried", tried)
	}
}

// cutOne returns the newest save with one file that is cut or lost. loose: the format cannot notice that.
func cutOne(r *rand.Rand, s randomSave, newest tree) (cut tree, loose bool) {
	all := newest.names()
	name := all[r.IntN(len(all))]
	for i, part := range s.parts {
		for file := range renumbered(looseFiles(part), 200, 300) {
			if strings.HasSuffix(name, s.names[i]+"/"+file) {
				return nil, true
			}
		}
	}
	if r.IntN(2) == 0 && !strings.HasSuffix(name, "latest") && !strings.HasSuffix(name, mgTracker) {
		return newest.with(name, nil), false
	}
	return newest.with(name, newest[name][:len(newest[name])/2]), false
}

func looseFiles(fx fixture) tree {
	out := tree{}
	for name := range fx.loose {
		out[name] = nil
	}
	return out
}

// checkRetained checks that every file of step 200 is left after retention.
func checkRetained(t *testing.T, what string, files tree, found []Found, s randomSave) {
	t.Helper()
	gone := Retain(found, Keep{Last: 1, Attempt: 1})
	left := maps.Clone(files)
	for _, f := range gone {
		for _, root := range f.Roots() {
			left = dropDir(left, root)
			delete(left, root)
		}
	}
	for name := range s.at(200) {
		if _, ok := left[name]; !ok {
			t.Fatalf("%s: %s of the newest whole save is gone", what, name)
		}
	}
	after := scan(t, left)
	if c := Choose(after, nil); c.Point == nil || c.Point.Step != 200 {
		t.Fatalf("%s: after retention %+v of %+v", what, c.Point, after)
	}
}

// Random programs write their saves file by file, while the agent keeps one save. From the first whole save
// on, there is always one to resume from, and the resume point never goes back.
func TestRetentionDuringSaves(t *testing.T) {
	all := fixtures()
	names := slices.Sorted(maps.Keys(all))
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 41))
		s, layouts := randomProgram(r, all, names)
		files, whole := tree{}, 0
		for _, step := range []int{100, 200, 300, 400} {
			save := s.at(step)
			order := save.names()
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for i, name := range order {
				files[name] = save[name]
				if i < len(order)-1 && r.IntN(3) > 0 {
					continue
				}
				for _, f := range Retain(scan(t, files), Keep{Last: 1, Attempt: 1}) {
					for _, root := range f.Roots() {
						files = dropDir(files, root)
					}
				}
				c := Choose(scan(t, files), nil)
				if whole > 0 && (c.Point == nil || c.Point.Step < int64(whole)) {
					t.Fatalf("seed %d, %v: step %d was whole, chosen is %+v of %+v", seed, layouts, whole, c.Point,
						scan(t, files))
				}
			}
			whole = step
		}
	}
}

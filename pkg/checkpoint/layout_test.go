package checkpoint

import (
	"strings"
	"testing"
)

func scan(t *testing.T, files tree) []Found {
	t.Helper()
	found, err := Scan(files.fs(), ".", Options{Sums: true})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func at(found []Found, path string) Found {
	for _, f := range found {
		if f.Path == path {
			return f
		}
	}
	return Found{}
}

func TestCompleteCheckpointsAreFound(t *testing.T) {
	for name, fx := range fixtures() {
		t.Run(name, func(t *testing.T) {
			found := scan(t, fx.files.and(fx.older).under("attempt-3"))
			got := at(found, "attempt-3/"+fx.path)
			if got.State != Complete || got.Layout != fx.layout || got.Step != fx.step || got.Attempt != 3 ||
				got.Bytes == 0 {
				t.Errorf("got %+v", got)
			}
			if c := Choose(found, nil); c.Point == nil || c.Point.Step != 200 || len(c.PassedOver) > 0 {
				t.Errorf("chose %+v, passed over %+v", c.Point, c.PassedOver)
			}
			if len(found) != 2 {
				t.Errorf("want two checkpoints, got %+v", found)
			}
		})
	}
}

// Each checkpoint is damaged in every way that a file can be: lost, cut by a byte, cut in half, emptied. In
// each case it is not complete, and the one before it is chosen.
func TestTornCheckpointsArePassedOver(t *testing.T) {
	for name, fx := range fixtures() {
		for file, data := range fx.files {
			for how, content := range map[string][]byte{
				"lost": nil, "cut by a byte": data[:len(data)-1], "cut in half": data[:len(data)/2],
				"empty": {},
			} {
				if _, ok := fx.loose[file]; ok {
					continue
				}
				t.Run(name+"/"+file+"/"+how, func(t *testing.T) {
					found := scan(t, fx.files.with(file, content).and(fx.older))
					if got := at(found, fx.path); got.State == Complete {
						t.Errorf("it is called complete: %+v", got)
					} else if got.Path != "" && got.Why == "" {
						t.Errorf("no reason is given: %+v", got)
					}
					if c := Choose(found, nil); c.Point == nil || c.Point.Step != 100 {
						t.Errorf("chose %+v of %+v", c.Point, found)
					}
				})
			}
		}
	}
}

// TestDamagePerLayout: damage that is specific to a layout, and its report.
func TestDamagePerLayout(t *testing.T) {
	fx := fixtures()
	set := func(name, file, content string) tree { return fx[name].files.with(file, []byte(content)) }
	manifest := fx["manifest"].files
	other := append([]byte{}, weights...)
	other[7] ^= 1
	files := tree{"a.bin": weights}
	unusual := deepSpeedTree(200, 2, 1).and(tree{"latest": []byte("global_step200")})
	tests := map[string]struct {
		files tree
		path  string
		state State
		why   string
	}{
		"manifest, wrong size": {
			manifest.with("step-0000000200/model.pt", weights), "step-0000000200", Torn,
			"model.pt has 320 bytes, the manifest says",
		},
		"manifest, wrong sum": {
			manifestOf(200, files).with("a.bin", other).under("s"), "s", Torn, "a.bin has another SHA-256",
		},
		"manifest, of a newer version": {
			set("manifest", "step-0000000200/"+ManifestName, `{"version":2,"step":1,"files":[]}`),
			"step-0000000200", Torn, "version is 2",
		},
		"manifest, unknown field": {
			set(
				"manifest", "step-0000000200/"+ManifestName,
				`{"version":1,"step":1,"files":[{"name":"a","size":1}],"x":1}`,
			),
			"step-0000000200", Torn, "x is unknown",
		},
		"manifest, way out": {
			set(
				"manifest", "step-0000000200/"+ManifestName,
				`{"version":1,"step":1,"files":[{"name":"../a","size":1}]}`,
			),
			"step-0000000200", Torn, "without ..",
		},
		"DCP, metadata not renamed": {
			dcpTree().with(".metadata", nil).with(".metadata.tmp", dcpTree()[".metadata"]).under("step_200"),
			"step_200", Torn, ".metadata is missing",
		},
		"DCP, not a pickle": {
			dcpTree().with(".metadata", []byte("hello")).under("step_200"), "step_200", Unknown,
			"cannot be followed",
		},
		"DCP, unusual names": {
			dcpTree().with(".metadata", dcpPickle(dcpPart{"data.bin", 0, 4})).under("step_200"), "step_200",
			Unknown, "not known",
		},
		"DCP, way out": {
			dcpTree().with(".metadata", dcpPickle(dcpPart{"../__0_0.distcp", 0, 4})).under("step_200"),
			"step_200", Unknown, "outside",
		},
		"HF, temporary directory": {
			hfTree(200).under("tmp-checkpoint-200"), "tmp-checkpoint-200", Torn, "temporary",
		},
		"HF, save at SIGTERM": {
			hfTree(200).with("checkpoint-is-incomplete.txt", []byte("Checkpoint started at step 200")).
				under("checkpoint-200"),
			"checkpoint-200", Torn, "checkpoint-is-incomplete.txt",
		},
		"HF, save at SIGTERM that has begun": {
			tree{"checkpoint-is-incomplete.txt": []byte("Checkpoint started at step 200")}.under("checkpoint-200"),
			"checkpoint-200", Torn, "checkpoint-is-incomplete.txt",
		},
		"HF, state of another step": {
			hfTree(199).under("checkpoint-200"), "checkpoint-200", Torn, "says step 199",
		},
		"HF, missing random state": {
			hfTree(200).with("rng_state_0.pth", nil).under("checkpoint-200"), "checkpoint-200", Torn,
			"rng_state_0.pth is missing",
		},
		"HF, model only": {
			hfTree(200).with("optimizer.pt", nil).under("checkpoint-200"), "checkpoint-200", Unknown,
			"save_only_model",
		},
		"HF, index with a way out": {
			hfTree(200).with(
				"model.safetensors.index.json", []byte(`{"weight_map":{"a":"../x.safetensors"}}`),
			).under("checkpoint-200"),
			"checkpoint-200", Unknown, "outside",
		},
		"DeepSpeed, no tracker": {deepSpeedTree(200, 2, 1), "global_step200", Torn, "latest is missing"},
		"DeepSpeed, data ahead": {
			deepSpeedTree(200, 2, 1).and(tree{"latest": []byte("global_step100")}), "global_step200", Torn,
			"latest still names global_step100",
		},
		"DeepSpeed, tracker ahead": {
			deepSpeedTree(200, 2, 1).and(tree{"latest": []byte("global_step300")}), "global_step300", Torn,
			"not there",
		},
		"DeepSpeed, last shard": {
			unusual.with("global_step200/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", nil),
			"global_step200", Torn, "rank_1_mp_rank_00_optim_states.pt is missing",
		},
		"DeepSpeed, sizes unknown": {
			unusual.with("global_step200/mp_rank_00_model_states.pt", torchSave(nil)), "global_step200",
			Unknown, "how many",
		},
		"Megatron, no tracker": {megatronTree(200), "iter_0000200", Torn, "is missing next to it"},
		"Megatron, data ahead": {
			megatronTree(200).and(tree{mgTracker: []byte("100")}), "iter_0000200", Torn, "still says 100",
		},
		"Megatron, tracker ahead": {
			megatronTree(200).and(tree{mgTracker: []byte("300")}), "iter_0000300", Torn, "not there",
		},
		"Megatron, tracker garbage": {
			megatronTree(200).and(tree{mgTracker: []byte("x")}), "iter_0000200", Torn, "no number",
		},
		"Megatron, rank missing": {
			dropDir(megatronTree(200), "iter_0000200/mp_rank_01_001").and(tree{mgTracker: []byte("200")}),
			"iter_0000200", Torn, "mp_rank_01_001 is missing",
		},
		"Megatron, zarr": {
			tree{
				"iter_0000200/metadata.json": []byte(`{"sharded_backend":"zarr"}`),
				"iter_0000200/common.pt":     torchSave(nil), mgTracker: []byte("200"),
			},
			"iter_0000200", Unknown, "torch_dist",
		},
		"TF, state file ahead": {
			tfTree(100).and(tree{"checkpoint": []byte(`model_checkpoint_path: "ckpt-200"`)}), "ckpt-200",
			Torn, "index is missing",
		},
		"TF, shards without index": {tfTree(200).with("ckpt-200.index", nil), "ckpt-200", Torn, "written last"},
		"Keras, member missing": {
			tree{"m-200.keras": zipOf(tree{"config.json": nil, "metadata.json": nil})}, "m-200.keras", Torn,
			"model.weights",
		},
		"Keras, open for writing": {
			tree{"m-200.weights.h5": openHDF5()}, "m-200.weights.h5", Torn, "open for writing",
		},
		"Keras, no step": {
			tree{"best.keras": kerasOf()}, "best.keras", Unknown, "its name has no step",
		},
		"epoch is no step": {dcpTree().under("epoch-7"), "epoch-7", Unknown, "its name has no step"},
		"Orbax, temporary directory": {
			orbaxTree().under("200.orbax-checkpoint-tmp-1729"), "200.orbax-checkpoint-tmp-1729", Torn,
			"temporary",
		},
		"Orbax, not committed": {
			orbaxTree().with(
				orbaxMetadata, []byte(`{"init_timestamp_nsecs":1,"commit_timestamp_nsecs":null}`),
			).under("200"),
			"200", Torn, "no commit time",
		},
		"Orbax, item missing": {
			dropDir(orbaxTree(), "state").under("200"), "200", Torn, "item state is missing",
		},
		"Orbax, item left over": {
			orbaxTree().with("x.orbax-checkpoint-tmp-1/a", weights).under("200"), "200", Torn, "left over",
		},
		"Orbax, manifest cut": {
			orbaxTree().with("params/manifest.ocdbt", ocdbtOf()[:30]).under("200"), "200", Torn,
			"its header says",
		},
		"Orbax, manifest damaged": {
			orbaxTree().with("params/manifest.ocdbt", damaged(ocdbtOf(), 20)).under("200"), "200", Torn,
			"checksum",
		},
		"Orbax, data empty": {
			orbaxTree().with("params/d/0a1b", []byte{}).under("200"), "200", Torn, "d/0a1b is empty",
		},
		"torch.save alone": {
			tree{"step-200.pt": torchSave(nil)}, "step-200.pt", Unknown, "without a manifest",
		},
		"torch.save alone, cut": {
			tree{"step-200.pt": torchSave(nil)[:100]}, "step-200.pt", Torn, "no end of its zip",
		},
		"torch.save before 1.6": {
			tree{"step=200.ckpt": []byte("\x80\x02\x8a\nl\xfc\x9cF")}, "step=200.ckpt", Unknown,
			"before 1.6",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := at(scan(t, tc.files), tc.path)
			if got.State != tc.state || !strings.Contains(got.Why, tc.why) {
				t.Errorf("want %s, %q; got %+v", tc.state, tc.why, got)
			}
		})
	}
}

// TestFilesOfOtherProgramsAreNotTorn: a whole save is never Torn because its directory, or a file in it or
// beside it, has a name that another layout uses.
func TestFilesOfOtherProgramsAreNotTorn(t *testing.T) {
	tracker := func(text string) tree { return tree{mgTracker: []byte(text)} }
	tests := map[string]struct {
		files  tree
		path   string
		layout Layout
		state  State
	}{
		"metadata.json in a DCP directory": {
			dcpTree().with(mgConfig, []byte(`{"epoch":1}`)).under("step_200"), "step_200", LayoutTorchDCP, Complete,
		},
		"iteration of torch.save files": {
			tree{"iter_0000200/model.pt": torchSave(nil)}.and(tracker("200")), "iter_0000200", LayoutTorchSave,
			Unknown,
		},
		"iteration of parts": {
			dcpTree().under("iter_0000200/model").and(tracker("200")), "iter_0000200", LayoutTorchDCP, Complete,
		},
		"iteration of parts, not finished": {
			dcpTree().under("iter_0000200/model").and(tracker("100")), "iter_0000200", LayoutTorchDCP, Torn,
		},
		"directory with a tracker of other names": {
			dcpTree().under("step-200").and(tracker("100")), "step-200", LayoutTorchDCP, Complete,
		},
		"manifest beside a tracker": {
			manifestOf(200, tree{"a": weights}).under("global_step_200").and(tracker("100")), "global_step_200",
			LayoutManifest, Complete,
		},
		"weights and optimizer without Accelerate's states": {
			dcpTree().under("step_200/pytorch_model_fsdp_0").and(dcpTree().under("step_200/optimizer_0")), "step_200",
			LayoutAccelerate, Unknown,
		},
		"DCP directory with the name of a file of Lightning": {
			dcpTree().under("step=200.ckpt"), "step=200.ckpt", LayoutLightning, Unknown,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			found := scan(t, tc.files)
			if got := at(found, tc.path); len(found) != 1 || got.State != tc.state || got.Layout != tc.layout {
				t.Errorf("want one save, %s %s; got %+v", tc.state, tc.layout, found)
			}
		})
	}
}

// TestTrackerCutWhileItIsWritten: a program that is killed while it replaces its tracker leaves the save
// before to resume from.
func TestTrackerCutWhileItIsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		files tree
		name  string
		texts []string
	}{
		"DeepSpeed": {deepSpeedTree(100, 2, 1).and(deepSpeedTree(200, 2, 1)), dsTracker, []string{"", "global"}},
		"Megatron":  {megatronTree(100).and(megatronTree(200)), mgTracker, []string{"", "2"}},
	} {
		for _, text := range tc.texts {
			found := scan(t, tc.files.and(tree{tc.name: []byte(text)}))
			c := Choose(found, nil)
			if c.Point == nil || c.Point.Step != 100 || len(found) != 2 || len(c.PassedOver) != 1 {
				t.Errorf("%s, %q: chose %+v of %+v", name, text, c.Point, found)
			}
		}
	}
}

func dropDir(files tree, dir string) tree {
	out := tree{}
	for name, data := range files {
		if !strings.HasPrefix(name, dir+"/") {
			out[name] = data
		}
	}
	return out
}

func damaged(data []byte, at int) []byte {
	data[at] ^= 0xff
	return data
}

func openHDF5() []byte {
	data := hdf5Of(3)
	data[11] = 1
	return data
}

func TestJobsThatShareADirectoryAreKeptApart(t *testing.T) {
	files := manifestOf(200, tree{"a": weights}).under("step-200")
	found, err := Scan(files.fs(), ".", Options{JobUID: "uid-2"})
	if err != nil || len(found) != 1 || found[0].State != Unknown || !found[0].WrongJob {
		t.Errorf("got %+v, %v", found, err)
	}
}

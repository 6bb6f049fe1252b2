package checkpoint

import "slices"

// LayoutRule documents how the agent recognizes a layout and decides whether a checkpoint is complete. A test
// compares docs/checkpoints.md with it.
type LayoutRule struct {
	Layout Layout
	// LooksLike describes how the agent recognizes the layout, CompleteWhen what a complete checkpoint
	// satisfies, and StepFrom where its step is.
	LooksLike, CompleteWhen, StepFrom string
	// Removable reports whether the agent may delete such a checkpoint to keep only the last few: it has a
	// directory of its own, no other program relies on it, and it cannot be the one marked as the best model
	// so far.
	Removable bool
}

// LayoutRules lists the layouts in the order in which they are tried.
var LayoutRules = []LayoutRule{
	{
		LayoutManifest, "directory with `" + ManifestName + "`",
		"it parses; every listed file has its size (`agent resolve` also checks SHA-256)", "manifest", true,
	},
	{
		LayoutOrbax, "directory with `_CHECKPOINT_METADATA` or `commit_success.txt`",
		"no temporary name; a commit time or file; every item exists; " +
			"every `manifest.ocdbt` has its length and checksum; no empty data file",
		"directory name", false,
	},
	{
		LayoutAccelerate, "directory with `random_states_N.pkl`",
		"weights, optimizer and `random_states_0.pkl` are intact; no file that the save before has is missing",
		"directory name", true,
	},
	{
		LayoutHuggingFace, "directory `checkpoint-N` of the Trainer",
		"`trainer_state.json` has step N; weights, optimizer, scheduler and random states are intact; no " +
			"`" + hfUnfinished + "`",
		"directory name", false,
	},
	{
		LayoutTorchDCP, "directory with `.metadata` or `*.distcp`",
		"`.metadata` is intact; every `.distcp` file in it has its length", "directory name", true,
	},
	{
		LayoutMegatron, "`iter_NNNNNNN` next to `latest_checkpointed_iteration.txt`",
		"the tracker has reached it; every tensor, pipeline and expert rank has intact files " +
			"(other formats: as TorchDCP, plus `metadata.json` for `torch_dist`)",
		"directory name", true,
	},
	{
		LayoutDeepSpeed, "directory with `*_states.pt` next to `latest`",
		"`latest` has reached it; every model and ZeRO shard by `dp_world_size` and `mp_world_size` is intact",
		"directory name", true,
	},
	{
		LayoutTensorFlow, "`NAME-N.index` with `NAME-N.data-…`",
		"the index is intact; every data shard has its length; a SavedModel has `saved_model.pb`",
		"file name", false,
	},
	{
		LayoutKeras, "file `*.keras` or `*.weights.h5`",
		"the zip is complete with its three members; " +
			"the HDF5 file reaches its end-of-file address and is not open for writing",
		"file name", false,
	},
	{
		LayoutLightning, "file or directory `*.ckpt`",
		"the zip is complete (directory: as TorchDCP plus `meta.pt`, or as DeepSpeed)",
		"name, else `global_step` in the file", false,
	},
	{
		LayoutTorchSave, "file `*.pt` or `*.pth` without a manifest",
		"never, because a save does not list its files: write a manifest", "file name", false,
	},
}

// Removable reports whether the agent may delete a save: it may delete each of its parts.
func (f *Found) Removable() bool {
	isKept := func(p Part) bool { return !removable(p.Layout) }
	return removable(f.Layout) && !slices.ContainsFunc(f.Parts, isKept)
}

func removable(l Layout) bool {
	for _, r := range LayoutRules {
		if r.Layout == l {
			return r.Removable
		}
	}
	return false
}

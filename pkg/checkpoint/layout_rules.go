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
		LayoutManifest, "a directory with `" + ManifestName + "`",
		"the manifest parses, and every file that it names exists with the right size " +
			"(`agent resolve` also checks the SHA-256)",
		"in the manifest", true,
	},
	{
		LayoutOrbax, "a directory with `_CHECKPOINT_METADATA` or `commit_success.txt`",
		"no temporary name; a commit time or a commit file; every item exists; " +
			"every `manifest.ocdbt` has the right length and checksum; no data file is empty",
		"in the directory's name", false,
	},
	{
		LayoutHuggingFace, "a directory `checkpoint-N` of the Trainer",
		"`trainer_state.json` has step N, all weight shards of the index are intact, " +
			"and so are the optimizer and random states",
		"in the directory's name", false,
	},
	{
		LayoutTorchDCP, "a directory with `.metadata` or `*.distcp`",
		"`.metadata` is intact, and every `.distcp` file that it names has the length that it lists",
		"in the directory's name", true,
	},
	{
		LayoutMegatron, "`iter_NNNNNNN` next to `latest_checkpointed_iteration.txt`",
		"the tracker has reached it, and every tensor, pipeline and expert rank has intact files " +
			"(in the distributed form: as TorchDCP, plus `common.pt`)",
		"in the directory's name", true,
	},
	{
		LayoutDeepSpeed, "a directory with `*_states.pt` next to `latest`",
		"`latest` has reached it, and every model and ZeRO shard that `dp_world_size` and `mp_world_size` imply " +
			"is intact",
		"in the directory's name", true,
	},
	{
		LayoutTensorFlow, "`NAME-N.index` with `NAME-N.data-…`",
		"the index is intact, and every data shard has the length that the index lists",
		"in the file's name", false,
	},
	{
		LayoutKeras, "a file `*.keras` or `*.weights.h5`",
		"the zip is not truncated and has its three members; " +
			"the HDF5 file reaches its end-of-file address and is not open for writing",
		"in the file's name", false,
	},
	{
		LayoutLightning, "a file or a directory `*.ckpt`",
		"the zip is not truncated (a directory: as TorchDCP or DeepSpeed)",
		"in the name, else `global_step` in the file", false,
	},
	{
		LayoutTorchSave, "a file `*.pt` or `*.pth` without a manifest",
		"never, because the files of a save are not listed: write a manifest", "in the file's name", false,
	},
}

// removable reports whether the agent may delete a save: it may delete each of its parts.
func (f *Found) removable() bool {
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

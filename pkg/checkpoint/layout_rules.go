package checkpoint

// LayoutRule documents how a layout is recognized and judged. A test keeps docs/checkpoints.md in step with
// it.
type LayoutRule struct {
	Layout Layout
	// LooksLike is how the layout is recognized, CompleteWhen what a complete checkpoint satisfies, StepFrom
	// where its step is found.
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
		"the manifest parses, every file that it names is there with its size (`resolve` checks the SHA-256 too)",
		"in the manifest", true,
	},
	{
		LayoutOrbax, "a directory with `_CHECKPOINT_METADATA` or `commit_success.txt`",
		"no temporary name, a commit time (or a commit file), every item is there, " +
			"every `manifest.ocdbt` has its length and checksum, no data file is empty",
		"in the directory's name", false,
	},
	{
		LayoutHuggingFace, "a directory `checkpoint-N` of the Trainer",
		"`trainer_state.json` says step N, all weight shards of the index are there and whole, " +
			"optimizer and random states are whole",
		"in the directory's name", false,
	},
	{
		LayoutTorchDCP, "a directory with `.metadata` or `*.distcp`",
		"`.metadata` is whole, and every `.distcp` file that it names is there and as long as it says",
		"in the directory's name", true,
	},
	{
		LayoutMegatron, "`iter_NNNNNNN` beside `latest_checkpointed_iteration.txt`",
		"the tracker has reached it, every tensor, pipeline and expert rank has whole files " +
			"(in the distributed form: as TorchDCP, with `common.pt`)",
		"in the directory's name", true,
	},
	{
		LayoutDeepSpeed, "a directory with `*_states.pt` beside `latest`",
		"`latest` has reached it, every model and ZeRO shard that `dp_world_size` and `mp_world_size` ask for " +
			"is there and whole",
		"in the directory's name", true,
	},
	{
		LayoutTensorFlow, "`NAME-N.index` with `NAME-N.data-…`",
		"the index is whole, and every data shard is there and as long as the index says",
		"in the file's name", false,
	},
	{
		LayoutKeras, "a file `*.keras` or `*.weights.h5`",
		"the zip has its end and its three members; " +
			"the HDF5 file reaches its end-of-file address and is not open for writing",
		"in the file's name", false,
	},
	{
		LayoutLightning, "a file `*.ckpt`",
		"the zip has its end", "in the file's name, else `global_step` in the file", false,
	},
	{
		LayoutTorchSave, "a file `*.pt` or `*.pth` without a manifest",
		"never: nothing says which files belong together. Write a manifest", "in the file's name", false,
	},
}

func removable(l Layout) bool {
	for _, r := range LayoutRules {
		if r.Layout == l {
			return r.Removable
		}
	}
	return false
}

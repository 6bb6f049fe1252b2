package checkpoint

import (
	"errors"
	"fmt"
)

// Layout of a checkpoint: who wrote it, and so what "complete" means.
type Layout string

const (
	LayoutManifest    Layout = "Manifest"
	LayoutTorchSave   Layout = "TorchSave"
	LayoutTorchDCP    Layout = "TorchDCP"
	LayoutHuggingFace Layout = "HuggingFace"
	LayoutLightning   Layout = "Lightning"
	LayoutDeepSpeed   Layout = "DeepSpeed"
	LayoutMegatron    Layout = "Megatron"
	LayoutTensorFlow  Layout = "TensorFlow"
	LayoutKeras       Layout = "Keras"
	LayoutOrbax       Layout = "Orbax"
	// LayoutReported is no layout on a volume: the trainer said in its status file that it has committed.
	LayoutReported Layout = "Reported"
)

// Rule is what docs/checkpoints.md says of a layout; a test holds the page to it.
type Rule struct {
	Layout Layout
	// Looks: by what it is recognised. Complete: what must hold. Step: where its number is.
	Looks, Complete, Step string
	// Removable: the agent may delete it when it is asked to keep the last few only. It has a directory of its own, no other
	// program counts on it, and nothing in it says that it is the best model so far.
	Removable bool
}

// Rules by layout, in the order in which they are tried.
var Rules = []Rule{
	{
		LayoutManifest, "a directory with `" + ManifestName + "`",
		"the manifest parses, every file that it names is there with its size (`resolve` checks the SHA-256 too)", "in the manifest", true,
	},
	{
		LayoutOrbax, "a directory with `_CHECKPOINT_METADATA` or `commit_success.txt`",
		"no temporary name, a commit time (or a commit file), every item is there, every `manifest.ocdbt` has its length and checksum, no data file is empty",
		"in the directory's name", false,
	},
	{
		LayoutHuggingFace, "a directory `checkpoint-N` of the Trainer",
		"`trainer_state.json` says step N, all weight shards of the index are there and whole, optimizer and random states are whole", "in the directory's name", false,
	},
	{
		LayoutTorchDCP, "a directory with `.metadata` or `*.distcp`",
		"`.metadata` is whole, and every `.distcp` file that it names is there and as long as it says", "in the directory's name", true,
	},
	{
		LayoutMegatron, "`iter_NNNNNNN` beside `latest_checkpointed_iteration.txt`",
		"the tracker has reached it, every tensor, pipeline and expert rank has whole files (in the distributed form: as TorchDCP, with `common.pt`)", "in the directory's name", true,
	},
	{
		LayoutDeepSpeed, "a directory with `*_states.pt` beside `latest`",
		"`latest` has reached it, every model and ZeRO shard that `dp_world_size` and `mp_world_size` ask for is there and whole", "in the directory's name", true,
	},
	{
		LayoutTensorFlow, "`NAME-N.index` with `NAME-N.data-…`",
		"the index is whole, and every data shard is there and as long as the index says", "in the file's name", false,
	},
	{
		LayoutKeras, "a file `*.keras` or `*.weights.h5`",
		"the zip has its end and its three members; the HDF5 file reaches its end-of-file address and is not open for writing", "in the file's name", false,
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
	for _, r := range Rules {
		if r.Layout == l {
			return r.Removable
		}
	}
	return false
}

// State of a checkpoint on a volume.
type State string

const (
	Complete State = "Complete"
	// Torn: something that must be there is not, or not whole. A checkpoint that is being written looks the same.
	Torn State = "Torn"
	// Unknown: it cannot be told. Nobody resumes from it.
	Unknown State = "Unknown"
)

// Found is a checkpoint, or what is left of one.
type Found struct {
	// Path below the root that was looked at, as fs.FS names it.
	Path   string
	Layout Layout
	State  State
	// Why it is not complete.
	Why string
	// Step, -1 where nothing says it.
	Step int64
	// Attempt whose directory it lies in; 0: in none.
	Attempt int32
	// Bytes of its files together.
	Bytes int64
	// WrongJob: its manifest has another job's UID.
	WrongJob bool
}

// noStep stands for a number that nothing says.
const noStep = -1

// finding is why a checkpoint is not complete.
type finding struct {
	state State
	why   string
}

func (f *finding) Error() string { return f.why }

func torn(format string, args ...any) error { return &finding{Torn, fmt.Sprintf(format, args...)} }

func unknown(format string, args ...any) error {
	return &finding{Unknown, fmt.Sprintf(format, args...)}
}

// judge fills State and Why from what a check says. A read error (a disk that fails, a file that vanished between two looks)
// tells nothing about the checkpoint.
func (f *Found) judge(err error) {
	var fd *finding
	switch {
	case err == nil:
		f.State = Complete
	case errors.As(err, &fd):
		f.State, f.Why = fd.state, err.Error()
	default:
		f.State, f.Why = Unknown, "reading it: "+err.Error()
	}
	f.Why = Printable(f.Why, 256)
}

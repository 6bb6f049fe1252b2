package checkpoint

import "path"

// Reasons that several layouts share.
const (
	// withoutRandomStates: Accelerate and the Trainer log that the random states are missing, and continue.
	withoutRandomStates = "the framework resumes without it"
	unused              = "nothing needs it to resume"
	uncounted           = "no file names it"
)

// The files of the Trainer that nothing counts.
func trainerLoose(more ...string) map[string]string {
	loose := map[string]string{
		"checkpoint-#/config.json": unused, "checkpoint-#/generation_config.json": unused,
		"checkpoint-#/training_args.bin": unused,
		"checkpoint-#/rng_state.pth":     withoutRandomStates, "checkpoint-#/rng_state_1.pth": withoutRandomStates,
	}
	for _, name := range more {
		loose["checkpoint-#/"+name] = unused
	}
	return loose
}

// The files of Orbax whose loss after the commit only damage can cause: the directory is renamed when all are
// written.
func orbaxLoose(at, item string, more ...string) map[string]string {
	loose := map[string]string{}
	for _, name := range append(more,
		at+"/_CHECKPOINT_METADATA", at+"/commit_success.txt", path.Join(at, item, "commit_success.txt"),
		path.Join(at, item, "_METADATA"), path.Join(at, item, "_sharding"),
		path.Join(at, item, "manifest.ocdbt"), path.Join(at, item, "ocdbt.process_*/manifest.ocdbt"),
		path.Join(at, item, "array_metadatas/process_*"), path.Join(at, item, "d/*"),
		path.Join(at, item, "ocdbt.process_*/d/*")) {
		loose[name] = uncounted
	}
	return loose
}

// judgements by the name of the tree, in the order of lab/layouts/record/trees.
var judgements = map[string]judgement{
	"one-file":              {layout: LayoutTorchSave, path: "step-#.pt", state: Unknown},
	"one-file-before-1-6":   {layout: LayoutTorchSave, path: "step-#.pth", state: Unknown},
	"files-in-a-directory":  {layout: LayoutTorchSave, path: "step-#", state: Unknown},
	"dcp-of-two-ranks":      {layout: LayoutTorchDCP, path: "step-#"},
	"dcp-in-the-background": {layout: LayoutTorchDCP, path: "step-#"},
	"dcp-in-several-parts": {
		layout: LayoutTorchDCP, path: "step-#",
		first: "move step-#/model/.metadata.tmp step-#/model/.metadata",
		from:  "move step-#/optimizer/.metadata.tmp step-#/optimizer/.metadata",
		loose: map[string]string{"step-#/trainer.pt": "a file of torch.save is no part"},
		kept:  "a file of torch.save is in it",
	},
	"verl-fsdp": {layout: LayoutTorchSave, path: "global_step_#", state: Unknown},
	"slime-fsdp": {layout: LayoutMegatron, path: "iter_#######", loose: map[string]string{
		"iter_#######/rng.pt": withoutRandomStates, "iter_#######/meta.json": "it counts from the step then",
	}},

	"trainer-of-one-rank": {layout: LayoutHuggingFace, path: "checkpoint-#", loose: trainerLoose()},
	"trainer-of-two-ranks": {
		layout: LayoutHuggingFace, path: "checkpoint-#", loose: trainerLoose(),
		from: "close checkpoint-#/trainer_state.json",
	},
	"trainer-with-weight-shards": {
		layout: LayoutHuggingFace, path: "checkpoint-#", loose: trainerLoose(),
	},
	"trainer-that-keeps-one": {
		layout: LayoutHuggingFace, path: "checkpoint-#", loose: trainerLoose(),
		from: "close checkpoint-#/trainer_state.json",
	},
	"trainer-of-weights-only": {layout: LayoutHuggingFace, path: "checkpoint-#", state: Unknown},
	"trainer-of-an-adapter": {
		layout: LayoutHuggingFace, path: "checkpoint-#", loose: trainerLoose("README.md", "adapter_config.json"),
	},
	"trainer-at-sigterm": {layout: LayoutHuggingFace, path: "checkpoint-#", loose: trainerLoose()},
	"accelerate-step":    {layout: LayoutAccelerate, path: "step_#"},
	"accelerate-checkpoint-of-two-ranks": {
		layout: LayoutAccelerate, path: "checkpoint-#", from: "close checkpoint-#/random_states_0.pkl",
		loose: map[string]string{"checkpoint-#/random_states_1.pkl": withoutRandomStates},
	},
	"accelerate-with-a-registered-object": {
		layout: LayoutAccelerate, path: "checkpoint-#", first: "close checkpoint-#/random_states_0.pkl",
	},
	"accelerate-names-automatically": {
		layout: LayoutAccelerate, path: "checkpoints/checkpoint_#", steps: [2]int64{0, 1},
	},
	"accelerate-in-the-way-of-diffusers": {
		layout: LayoutAccelerate, path: "checkpoint-#",
		loose: map[string]string{"checkpoint-#/unet/config.json": unused},
	},
	"accelerate-fsdp": {
		layout: LayoutAccelerate, path: "checkpoint-#", from: "close checkpoint-#/random_states_0.pkl",
		loose: map[string]string{"checkpoint-#/random_states_1.pkl": withoutRandomStates},
	},
	"dcp-as-safetensors": {},

	"zero-stage-0": {layout: LayoutDeepSpeed, path: "global_step#"},
	"zero-stage-2": {layout: LayoutDeepSpeed, path: "global_step#"},
	"zero-stage-3": {layout: LayoutDeepSpeed, path: "global_step#"},
	"trainer-with-deepspeed": {
		layout: LayoutHuggingFace, path: "checkpoint-#", from: "close checkpoint-#/trainer_state.json",
		loose: trainerLoose("model.safetensors", "scheduler.pt", "zero_to_fp32.py", "zero_to_torch.py"),
	},
	"accelerate-with-deepspeed": {
		layout: LayoutAccelerate, path: "checkpoint-#", from: "close checkpoint-#/random_states_0.pkl",
		loose: map[string]string{
			"checkpoint-#/random_states_1.pkl": withoutRandomStates,
			"checkpoint-#/zero_to_fp32.py":     unused, "checkpoint-#/zero_to_torch.py": unused,
		},
	},

	"lightning-one-file": {layout: LayoutLightning, path: "epoch=0-step=#.ckpt"},
	"lightning-one-file-and-last": {
		layout: LayoutLightning, path: "epoch=0-step=#.ckpt", from: "close epoch=0-step=#.ckpt",
		others: "last.ckpt", loose: map[string]string{"epoch=0-step=#.ckpt": "last.ckpt is a copy of it"},
	},
	"lightning-model-parallel": {
		layout: LayoutLightning, path: "epoch=@-step=#.ckpt", differs: [2]string{"0", "1"},
	},

	"megatron-torch":          {layout: LayoutMegatron, path: "iter_#######"},
	"megatron-torch-pipeline": {layout: LayoutMegatron, path: "iter_#######"},
	"megatron-torch-dist":     {layout: LayoutMegatron, path: "iter_#######"},
	"megatron-torch-dist-with-sums": {
		layout: LayoutMegatron, path: "iter_#######",
		loose: map[string]string{"iter_#######/integrity.json": "read only if sums are to be verified"},
	},
	"megatron-fsdp-dtensor": {layout: LayoutMegatron, path: "iter_#######"},
	"megatron-torch-dcp":    {layout: LayoutMegatron, path: "iter_#######"},
	"verl-megatron": {
		layout: LayoutTorchDCP, path: "global_step_#", kept: "a file of torch.save is in it",
		loose: map[string]string{
			"global_step_#/actor/huggingface/config.json": unused,
			"global_step_#/actor/transformer_config.json": unused,
			"global_step_#/data.pt":                       "a file of torch.save is no part",
		},
	},
	"megatron-bridge-fsdp-dtensor": {
		layout: LayoutMegatron, path: "iter_#######", others: "latest_train_state.pt",
		from:  "open iter_#######/run_config.yaml",
		loose: map[string]string{"iter_#######/run_config.yaml": "YAML does not show that it is cut"},
	},
	"nemo": {
		layout:  LayoutTorchDCP,
		path:    "default/2026-11-21_08-00-00/checkpoints/gpt--val_loss=0.50-step=#-consumed_samples=@.0",
		differs: [2]string{"80", "160"},
		loose: map[string]string{
			"default/*/checkpoints/*/context/io.json": unused, "default/*/checkpoints/*/context/model.yaml": unused,
		},
	},

	"orbax-one-item": {layout: LayoutOrbax, path: "#", loose: orbaxLoose("#", "default")},
	"orbax-items": {
		layout: LayoutOrbax, path: "#",
		loose: orbaxLoose("#", "state", "#/data/metadata", "#/data/commit_success.txt"),
	},
	"orbax-with-a-prefix": {
		layout: LayoutOrbax, path: "ckpt_########", loose: orbaxLoose("ckpt_########", "default"),
	},
	"orbax-that-keeps-one": {
		layout: LayoutOrbax, path: "#", loose: orbaxLoose("#", "default"),
		from: "move #.orbax-checkpoint-tmp #",
	},
	"orbax-without-a-manager": {layout: LayoutOrbax, path: "step_#", loose: orbaxLoose("step_#", ".")},
	"orbax-of-two-hosts":      {layout: LayoutOrbax, path: "#", loose: orbaxLoose("#", "default")},
	"orbax-v1":                {layout: LayoutOrbax, path: "#", loose: orbaxLoose("#", "state")},
	"flax-msgpack":            {},

	"tensorflow-manager": {layout: LayoutTensorFlow, path: "ckpt-#", from: "close ckpt-#.index"},
	"tensorflow-manager-that-keeps-one": {
		layout: LayoutTensorFlow, path: "model.ckpt-#", from: "close model.ckpt-#.index",
	},
	"tensorflow-in-a-directory-of-the-step": {
		layout: LayoutTensorFlow, path: "step-#", from: "close step-#/state.index",
	},
	"tensorflow-saved-model": {
		layout: LayoutTensorFlow, path: "#", loose: map[string]string{
			"#/fingerprint.pb": unused, "#/saved_model.pb": "it is renamed when it is written",
		}, from: "move #/saved_model.pb.tmp* #/saved_model.pb",
	},
	"keras-model":         {layout: LayoutKeras, path: "step-#.keras"},
	"keras-weights":       {layout: LayoutKeras, path: "step-#.weights.h5"},
	"keras-weight-shards": {others: "*.weights.h5"},
	"keras-backup":        {others: "latest.weights.h5"},

	"xgboost-checkpoint": {},
	"xgboost-model":      {},
	"lightgbm-model":     {},
}

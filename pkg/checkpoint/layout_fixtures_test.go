package checkpoint

// fixture is a complete checkpoint of a layout at step 200, and an older complete one at step 100, for tests
// that need many steps. What frameworks really write is in the corpus.
type fixture struct {
	layout Layout
	// path at which the checkpoint of step 200 is found.
	path  string
	step  int64
	files tree
	// older is the checkpoint that remains when the newer one is torn.
	older tree
	// loose lists files whose loss or truncation cannot be detected, each with the reason.
	loose map[string]string
}

func fixtures() map[string]fixture {
	files := tree{"model.pt": torchSave(nil), "optimizer/rank-0.pt": torchSave(nil)}
	tracker := func(name, text string) tree { return tree{name: []byte(text)} }
	uncounted := "the format does not count it"
	return map[string]fixture{
		"manifest": {
			layout: LayoutManifest, path: "step-0000000200", step: 200,
			files: manifestOf(200, files).under("step-0000000200"),
			older: manifestOf(100, files).under("step-0000000100"),
		},
		"manifest of a directory without a number": {
			layout: LayoutManifest, path: "newest", step: 200,
			files: manifestOf(200, files).under("newest"), older: manifestOf(100, files).under("before"),
		},
		"torch DCP": {
			layout: LayoutTorchDCP, path: "step_200", step: 200, files: dcpTree().under("step_200"),
			older: dcpTree().under("step_100"),
		},
		"Hugging Face": {
			layout: LayoutHuggingFace, path: "checkpoint-200", step: 200,
			files: hfTree(200).under("checkpoint-200"), older: hfTree(100).under("checkpoint-100"),
			loose: map[string]string{
				"checkpoint-200/config.json":     "not needed to go on",
				"checkpoint-200/rng_state_1.pth": uncounted,
			},
		},
		"Lightning": {
			layout: LayoutLightning, path: "epoch=1-step=200.ckpt", step: 200,
			files: tree{"epoch=1-step=200.ckpt": torchSave(map[string]int64{"global_step": 200})},
			older: tree{"epoch=0-step=100.ckpt": torchSave(map[string]int64{"global_step": 100})},
		},
		"DeepSpeed": {
			layout: LayoutDeepSpeed, path: "global_step200", step: 200,
			files: deepSpeedTree(200, 2, 2).and(tracker("latest", "global_step200")),
			older: deepSpeedTree(100, 2, 2),
			loose: map[string]string{"latest": "an older tag needs it too: a test of its own"},
		},
		"Megatron": {
			layout: LayoutMegatron, path: "iter_0000200", step: 200,
			files: megatronTree(200).and(tracker("latest_checkpointed_iteration.txt", "200")),
			older: megatronTree(100),
			loose: map[string]string{
				"latest_checkpointed_iteration.txt": "an older iteration needs it too: a test of its own",
			},
		},
		"Megatron distributed": {
			layout: LayoutMegatron, path: "iter_0000200", step: 200,
			files: megatronDistTree(200).and(tracker("latest_checkpointed_iteration.txt", "200\n")),
			older: megatronDistTree(100),
			loose: map[string]string{"latest_checkpointed_iteration.txt": "as above"},
		},
		"TensorFlow": {
			layout: LayoutTensorFlow, path: "ckpt-200", step: 200,
			files: tfTree(200),
			older: tfTree(100).and(tracker("checkpoint",
				"model_checkpoint_path: \"ckpt-200\"\nall_model_checkpoint_paths: \"ckpt-100\"\n")),
		},
		"Keras": {
			layout: LayoutKeras, path: "step-0200.keras", step: 200,
			files: tree{"step-0200.keras": kerasOf()}, older: tree{"step-0100.keras": kerasOf()},
		},
		"Orbax": {
			layout: LayoutOrbax, path: "200", step: 200, files: orbaxTree().under("200"),
			older: orbaxTree().under("100"),
			loose: map[string]string{
				"200/params/_METADATA":                      "an item need not have one",
				"200/state/_METADATA":                       "an item need not have one",
				"200/params/manifest.ocdbt":                 "an item need not be a tree",
				"200/state/manifest.ocdbt":                  "an item need not be a tree",
				"200/params/ocdbt.process_0/manifest.ocdbt": "as above",
				"200/params/d/0a1b":                         "named in compressed nodes",
				"200/state/d/99":                            "named in compressed nodes",
				"200/params/ocdbt.process_0/d/77":           "named in compressed nodes",
			},
		},
		"Orbax with a commit file": {
			layout: LayoutOrbax, path: "200", step: 200,
			files: tree{
				"200/commit_success.txt": []byte("Checkpoint commit was successful"),
				"200/default/checkpoint": weights,
			},
			older: orbaxTree().under("100"),
			loose: map[string]string{
				"200/default/checkpoint": "nothing names it",
				"200/commit_success.txt": "any byte in it is a commit",
			},
		},
	}
}

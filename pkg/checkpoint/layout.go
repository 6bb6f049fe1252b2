package checkpoint

// ManifestName is the manifest's file name in a checkpoint's directory, too long to collide with others.
const ManifestName = "trainingjob-manifest.json"

// Layout is the format of a checkpoint on disk. It decides what "complete" means.
type Layout string

const (
	LayoutManifest    Layout = "Manifest"
	LayoutTorchSave   Layout = "TorchSave"
	LayoutTorchDCP    Layout = "TorchDCP"
	LayoutHuggingFace Layout = "HuggingFace"
	LayoutAccelerate  Layout = "Accelerate"
	LayoutLightning   Layout = "Lightning"
	LayoutDeepSpeed   Layout = "DeepSpeed"
	LayoutMegatron    Layout = "Megatron"
	LayoutTensorFlow  Layout = "TensorFlow"
	LayoutKeras       Layout = "Keras"
	LayoutOrbax       Layout = "Orbax"
	// LayoutReported is a checkpoint from the trainer's status file whose files the agent did not inspect.
	LayoutReported Layout = "Reported"
)

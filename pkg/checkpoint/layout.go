package checkpoint

// ManifestName is the manifest's file name in a checkpoint's directory. It is long enough not to be anybody
// else's.
const ManifestName = "trainingjob-manifest.json"

// Layout is the format of a checkpoint on disk. It decides what "complete" means.
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
	// LayoutReported is a checkpoint that only the trainer's status file vouches for: nobody inspected its
	// files.
	LayoutReported Layout = "Reported"
)

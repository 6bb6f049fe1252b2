package checkpoint

// Environment of every rank of a job with checkpoints.
const (
	// EnvDir is where this attempt writes its checkpoints, <path>/attempt-<N>: a directory with storage pvc,
	// a URI on an object store. Checkpoints written anywhere else are not found.
	EnvDir = "CHECKPOINT_DIR"
	// EnvBase is where all attempts write, each below its own attempt-<N>: a directory with storage pvc, else a
	// URI. On an object store only the trainer can search it, and must if EnvResume is empty and EnvAttempt is
	// above 1: then the operator has no report of a checkpoint.
	EnvBase = "CHECKPOINT_BASE"
	// EnvInterval is the longest time between two checkpoints that the job asks for, in seconds.
	EnvInterval = "CHECKPOINT_INTERVAL_SECONDS"
	// EnvKeepLast is how many complete checkpoints to keep.
	EnvKeepLast = "CHECKPOINT_KEEP_LAST"
	// EnvResume is the checkpoint to resume from: its directory or file, or its URI on an object store. Empty
	// means a fresh start. All ranks get the same value: ranks that searched for themselves might find
	// different checkpoints.
	EnvResume = "RESUME_FROM_CHECKPOINT"
	// EnvAttempt numbers the starts of the gang, from 1.
	EnvAttempt = "TRAININGJOB_ATTEMPT"
	// EnvStatusFile is where rank 0 writes its Status: to a temporary file next to it, then renamed.
	EnvStatusFile = "TRAININGJOB_STATUS_FILE"
	// EnvBeatFile is where every rank can write that it makes progress: one line, STEP [PHASE [WHERE]]
	// [busy=SECONDS]. Local process n of a rank writes to the same path with .n at its end. Only with
	// runPolicy.liveness.
	EnvBeatFile = "TRAININGJOB_BEAT_FILE"
	// EnvCommandFile is where the trainer finds a Command. The file is replaced whole, never changed.
	EnvCommandFile = "TRAININGJOB_COMMAND_FILE"
	// EnvSettingsFile is where rank 0's trainer finds the Settings that hold now, from the start and after each
	// edit of the job. The file is replaced whole, never changed.
	EnvSettingsFile = "TRAININGJOB_SETTINGS_FILE"
	// EnvRehearsal is 1 in the ranks of a rehearsal. The trainer may leave out what has effects elsewhere. A
	// ConfigMap can set it in other jobs too, so the agent ignores it and has a flag.
	EnvRehearsal = "TRAININGJOB_REHEARSAL"
	// EnvGrace is the time between SIGTERM and SIGKILL, in seconds.
	EnvGrace = "TRAININGJOB_GRACE_SECONDS"

	// EnvJobUID goes into the manifest, so that jobs that share a directory do not mistake each other's
	// checkpoints.
	EnvJobUID = "TRAININGJOB_UID"
)

// Environment of the agent alone. Each variable also has a flag.
const (
	// EnvURI is the URI of the directory that holds the attempt-<N> directories.
	EnvURI = "TRAININGJOB_CHECKPOINT_URI"
	// EnvReportURL is the https URL to post reports to. Empty: reports are not posted.
	EnvReportURL = "TRAININGJOB_REPORT_URL"
	// EnvTokenFile holds the projected token that authenticates reports. It rotates, so it is read again for
	// every report.
	EnvTokenFile = "TRAININGJOB_TOKEN_FILE"
	// EnvCA holds the CA certificates that may have signed the server's, in PEM: more than one during a
	// rotation.
	EnvCA = "TRAININGJOB_REPORT_CA"
	// EnvKubeflow, with the value "true", lets rank 0's agent receive progress by the protocol of Kubeflow
	// Trainer. It is a variable and not a flag, because an agent of an earlier release refuses unknown flags.
	EnvKubeflow = "TRAININGJOB_KUBEFLOW"
)

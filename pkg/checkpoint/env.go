package checkpoint

// The environment that every rank of a job with checkpoints has.
const (
	// EnvDir is the directory (storage pvc) or the URI (object stores) under which this attempt writes its checkpoints:
	// <path>/attempt-<N>. Writing elsewhere means that nobody finds them.
	EnvDir = "CHECKPOINT_DIR"
	// EnvInterval is how many seconds may pass between two checkpoints, as the job's author asked.
	EnvInterval = "CHECKPOINT_INTERVAL_SECONDS"
	// EnvKeepLast is how many complete checkpoints are worth keeping.
	EnvKeepLast = "CHECKPOINT_KEEP_LAST"
	// EnvResume is what to resume from: the directory or file of one complete checkpoint (its URI on object stores). Empty:
	// start anew. It is the same in every rank; a rank that looks for a checkpoint itself may find another than its peers.
	EnvResume = "RESUME_FROM_CHECKPOINT"
	// EnvAttempt numbers the gang's starts, from 1.
	EnvAttempt = "TRAININGJOB_ATTEMPT"
	// EnvStatusFile is where rank 0 writes its Status: a temporary file beside it, then a rename.
	EnvStatusFile = "TRAININGJOB_STATUS_FILE"
	// EnvCommandFile is where the trainer finds a Command. It is replaced whole, never changed in place.
	EnvCommandFile = "TRAININGJOB_COMMAND_FILE"
	// EnvGrace is how many seconds the trainer has between SIGTERM and SIGKILL.
	EnvGrace = "TRAININGJOB_GRACE_SECONDS"

	// EnvJobUID for the manifest, so that two jobs that share a directory are kept apart.
	EnvJobUID = "TRAININGJOB_UID"
)

// The environment of the agent alone; each has a flag too.
const (
	// EnvURI is the URI of the job's checkpoint path: of the directory that holds the attempt-<N> directories.
	EnvURI = "TRAININGJOB_CHECKPOINT_URI"
	// EnvReportURL is where reports go, https. Empty: nowhere.
	EnvReportURL = "TRAININGJOB_REPORT_URL"
	// EnvTokenFile holds the projected token that a report carries. It is read anew for every report, since it rotates.
	EnvTokenFile = "TRAININGJOB_TOKEN_FILE"
	// EnvCA are the certificates, in PEM, of those that may sign the server's. More than one while they rotate.
	EnvCA = "TRAININGJOB_REPORT_CA"
)

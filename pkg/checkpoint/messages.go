package checkpoint

import "time"

// The bounds in the rule tags are the contract's only ones: decoding enforces them and schema/*.json is rendered from them.

// Phase is what a trainer is doing.
type Phase string

const (
	PhaseStarting Phase = "Starting"
	PhaseTraining Phase = "Training"
	PhaseSaving   Phase = "Saving"
	// PhaseCompleted: every step is trained. While a gang is drained an exit code of 0 alone does not mean success; this does.
	PhaseCompleted Phase = "Completed"
	// PhaseResolved is said by `agent resolve`, never by a trainer: nobody trains, this is what the volume holds.
	PhaseResolved Phase = "Resolved"
)

// SaveState is how far a save is.
type SaveState string

const (
	SaveSaving    SaveState = "Saving"
	SaveCommitted SaveState = "Committed"
	SaveFailed    SaveState = "Failed"
)

// Status is what a trainer writes about itself into EnvStatusFile. Only step is required.
type Status struct {
	// Step is the last step that is trained, counted over all attempts: after a resume it goes on, it does not restart.
	Step       int64   `json:"step" rule:"required,min=0,max=9007199254740992"`
	TotalSteps int64   `json:"totalSteps,omitempty" rule:"min=1,max=9007199254740992"`
	Phase      Phase   `json:"phase,omitempty" rule:"enum=Starting|Training|Saving|Completed"`
	Epoch      float64 `json:"epoch,omitempty" rule:"min=0,max=1000000000"`
	// TotalEpochs may be a fraction, as Epoch.
	TotalEpochs float64 `json:"totalEpochs,omitempty" rule:"min=0,max=1000000000"`
	// StepSeconds is the time of one step.
	StepSeconds float64 `json:"stepSeconds,omitempty" rule:"min=0,max=1000000"`
	// Metrics such as loss, by name: numbers, or strings that hold one. JSON has no NaN: write "NaN".
	Metrics map[string]Metric `json:"metrics,omitempty" rule:"maxItems=32,keys=metric"`
	// Checkpoint is needed on object stores, where nobody but the trainer sees the files. On volumes the agent looks itself,
	// and this only tells it that a save is under way.
	Checkpoint *Save `json:"checkpoint,omitempty"`
	// CommandID of the last Command that was carried out.
	CommandID string `json:"commandId,omitempty" rule:"maxLen=64,pattern=id"`
}

// Save is a trainer's or an agent's word about one checkpoint.
type Save struct {
	State SaveState `json:"state" rule:"required,enum=Saving|Committed|Failed"`
	// URI of the checkpoint; a trainer on a volume may leave it out or give a path.
	URI  string `json:"uri,omitempty" rule:"maxLen=1024,pattern=printable"`
	Step int64  `json:"step" rule:"required,min=0,max=9007199254740992"`
	// CommittedAt by the writer's clock, for people. Nothing is ordered by it.
	CommittedAt     *time.Time `json:"committedAt,omitempty"`
	DurationSeconds float64    `json:"durationSeconds,omitempty" rule:"min=0,max=10000000"`
	Bytes           int64      `json:"bytes,omitempty" rule:"min=0,max=1152921504606846976"`
}

// CommandName is what a trainer is asked to do.
type CommandName string

const (
	CommandNone       CommandName = "None"
	CommandCheckpoint CommandName = "Checkpoint"
	// CommandCheckpointAndExit asks for a checkpoint and then an exit with code 0.
	CommandCheckpointAndExit CommandName = "CheckpointAndExit"
)

// Command is what the agent writes into EnvCommandFile.
type Command struct {
	Command CommandName `json:"command" rule:"required,enum=Checkpoint|CheckpointAndExit"`
	// ID differs for every command: one that is already carried out is not carried out again.
	ID string `json:"id" rule:"required,maxLen=64,pattern=id"`
	// Deadline after which the pod is ended, done or not; absent: none.
	Deadline *time.Time `json:"deadline,omitempty"`
}

// Manifest says that a checkpoint is complete, because it is written last: temporary file, fsync, rename.
type Manifest struct {
	Version int32 `json:"version" rule:"required,min=1,max=1"`
	// JobUID keeps two jobs that share a directory apart.
	JobUID    string  `json:"jobUID,omitempty" rule:"maxLen=64,pattern=id"`
	Attempt   int32   `json:"attempt,omitempty" rule:"min=1,max=1000000"`
	Step      int64   `json:"step" rule:"required,min=0,max=9007199254740992"`
	Epoch     float64 `json:"epoch,omitempty" rule:"min=0,max=1000000000"`
	WorldSize int32   `json:"worldSize,omitempty" rule:"min=1,max=1000000"`
	Framework string  `json:"framework,omitempty" rule:"maxLen=64,pattern=printable"`
	Files     []File  `json:"files" rule:"required,minItems=1,maxItems=20000"`
}

// File of a checkpoint, by its path relative to the manifest.
type File struct {
	Name   string `json:"name" rule:"required,maxLen=512,pattern=file"`
	Size   int64  `json:"size" rule:"required,min=0,max=1152921504606846976"`
	SHA256 string `json:"sha256,omitempty" rule:"maxLen=64,pattern=sha256"`
}

// Report is what the agent of rank 0 posts, and `agent resolve`.
type Report struct {
	Attempt     int32             `json:"attempt" rule:"required,min=1,max=1000000"`
	Phase       Phase             `json:"phase" rule:"required,enum=Starting|Training|Saving|Completed|Resolved"`
	Step        int64             `json:"step,omitempty" rule:"min=0,max=9007199254740992"`
	TotalSteps  int64             `json:"totalSteps,omitempty" rule:"min=1,max=9007199254740992"`
	Epoch       float64           `json:"epoch,omitempty" rule:"min=0,max=1000000000"`
	TotalEpochs float64           `json:"totalEpochs,omitempty" rule:"min=0,max=1000000000"`
	StepSeconds float64           `json:"stepSeconds,omitempty" rule:"min=0,max=1000000"`
	Metrics     map[string]Metric `json:"metrics,omitempty" rule:"maxItems=32,keys=metric"`
	// FirstStep that this attempt's trainer named in another phase than Starting. Below the resume point's step the trainer has ignored it. Absent until the
	// trainer has said one.
	FirstStep *int64 `json:"firstStep,omitempty" rule:"min=0,max=9007199254740992"`
	// Checkpoint is the newest one; a commit is repeated in every report that follows.
	Checkpoint *Save `json:"checkpoint,omitempty"`
	// Layout of that checkpoint.
	Layout Layout `json:"layout,omitempty" rule:"maxLen=32,pattern=printable"`
	// CommandID of the last command that the trainer said it carried out, and DeliveredID of the last that it was given.
	CommandID   string `json:"commandId,omitempty" rule:"maxLen=64,pattern=id"`
	DeliveredID string `json:"deliveredId,omitempty" rule:"maxLen=64,pattern=id"`
	// PassedOver are checkpoints newer than Checkpoint that are not complete, with the reason, newest first.
	PassedOver []Passed `json:"passedOver,omitempty" rule:"maxItems=8"`
	// Problem that somebody should look at; training is not harmed by it.
	Problem string `json:"problem,omitempty" rule:"maxLen=512,pattern=printable"`
}

// Passed is a checkpoint that cannot be resumed from.
type Passed struct {
	URI string `json:"uri" rule:"required,maxLen=1024,pattern=printable"`
	Why string `json:"why" rule:"required,maxLen=256,pattern=printable"`
}

// Answer to a Report.
type Answer struct {
	Command  CommandName `json:"command" rule:"required,enum=None|Checkpoint|CheckpointAndExit"`
	ID       string      `json:"id,omitempty" rule:"maxLen=64,pattern=id"`
	Deadline *time.Time  `json:"deadline,omitempty"`
	// MinIntervalSeconds before the next report, unless a checkpoint is committed or the trainer ends.
	MinIntervalSeconds int32 `json:"minIntervalSeconds,omitempty" rule:"min=1,max=3600"`
}

// Termination is the agent's last word: the pod's termination message, which the kubelet keeps when the pod has gone silent.
type Termination struct {
	Reason   ExitReason `json:"reason" rule:"required,enum=Completed|Exited|Signaled|GraceExceeded|StartFailed|Resolved|Failed"`
	ExitCode int32      `json:"exitCode" rule:"required,min=0,max=255"`
	Signal   string     `json:"signal,omitempty" rule:"maxLen=16,pattern=printable"`
	Attempt  int32      `json:"attempt,omitempty" rule:"min=1,max=1000000"`
	Phase    Phase      `json:"phase,omitempty" rule:"enum=Starting|Training|Saving|Completed|Resolved"`
	Step     *int64     `json:"step,omitempty" rule:"min=0,max=9007199254740992"`
	// Checkpoint is the newest complete one of this attempt (`resolve`: of all attempts).
	Checkpoint *Save    `json:"checkpoint,omitempty"`
	Layout     Layout   `json:"layout,omitempty" rule:"maxLen=32,pattern=printable"`
	PassedOver []Passed `json:"passedOver,omitempty" rule:"maxItems=8"`
	Problem    string   `json:"problem,omitempty" rule:"maxLen=512,pattern=printable"`
	// Log is the end of what the trainer wrote to stderr, when it did not end well.
	Log string `json:"log,omitempty" rule:"maxLen=4096"`
}

// ExitReason is how a trainer ended.
type ExitReason string

const (
	// ExitCompleted: exit code 0, and the status file said Completed.
	ExitCompleted ExitReason = "Completed"
	ExitExited    ExitReason = "Exited"
	ExitSignaled  ExitReason = "Signaled"
	// ExitGraceExceeded: it was killed, for it still ran when its grace was over.
	ExitGraceExceeded ExitReason = "GraceExceeded"
	ExitStartFailed   ExitReason = "StartFailed"
	// ExitResolved and ExitFailed are how `agent resolve` ends.
	ExitResolved ExitReason = "Resolved"
	ExitFailed   ExitReason = "Failed"
)

// Most bytes of each message that are read at all.
const (
	MaxStatusBytes   = 64 << 10
	MaxCommandBytes  = 4 << 10
	MaxManifestBytes = 4 << 20
	MaxReportBytes   = 64 << 10
	MaxAnswerBytes   = 4 << 10
	// MaxTerminationBytes is the kubelet's bound (kubernetes pkg/kubelet/container: MaxPodTerminationMessageLogLength).
	MaxTerminationBytes = 4096
)

// ManifestName is the manifest's file name in a checkpoint's directory. It is long so that it is nobody else's.
const ManifestName = "trainingjob-manifest.json"

// ParseStatus reads a status file.
func ParseStatus(data []byte) (*Status, error) {
	return parse[Status]("status file", MaxStatusBytes, data)
}

// ParseCommand reads a command file.
func ParseCommand(data []byte) (*Command, error) {
	return parse[Command]("command file", MaxCommandBytes, data)
}

// ParseReport reads a report.
func ParseReport(data []byte) (*Report, error) { return parse[Report]("report", MaxReportBytes, data) }

// ParseAnswer reads the answer to a report. A command has an id.
func ParseAnswer(data []byte) (*Answer, error) {
	a, err := parse[Answer]("answer", MaxAnswerBytes, data)
	if err == nil && a.Command != CommandNone && a.ID == "" {
		return nil, &FormatError{"answer", "id", "is missing", "give every command an id of its own"}
	}
	return a, err
}

// ParseTermination reads a termination message of the agent.
func ParseTermination(data []byte) (*Termination, error) {
	return parse[Termination]("termination message", MaxTerminationBytes, data)
}

// ParseManifest reads a manifest. No file is named twice, and none is the manifest.
func ParseManifest(data []byte) (*Manifest, error) {
	m, err := parse[Manifest]("manifest", MaxManifestBytes, data)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		if seen[f.Name] || f.Name == ManifestName {
			return nil, &FormatError{"manifest", "files", "names " + f.Name + " twice, or itself", "name every file of the checkpoint once"}
		}
		seen[f.Name] = true
	}
	return m, nil
}

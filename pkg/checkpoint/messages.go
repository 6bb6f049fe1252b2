package checkpoint

import "time"

// The bounds in the rule tags are the only ones: decoding enforces them and schema/*.json is rendered from
// them.

// Phase is what a trainer is doing.
type Phase string

const (
	PhaseStarting Phase = "Starting"
	PhaseTraining Phase = "Training"
	PhaseSaving   Phase = "Saving"
	// PhaseEvaluating and PhaseWaiting last long without a step. A trainer in PhaseWaiting waits for something
	// outside the gang.
	PhaseEvaluating Phase = "Evaluating"
	PhaseWaiting    Phase = "Waiting"
	// PhaseCompleted: all steps are done. While a gang is drained, exit code 0 alone does not mean success;
	// this does.
	PhaseCompleted Phase = "Completed"
	// PhaseResolved marks what `agent resolve` found on the volume. No trainer runs then, and no trainer
	// reports it.
	PhaseResolved Phase = "Resolved"
)

// Reported returns the phase for a Report and a Termination. The operator of release 0.1 refuses both with
// Evaluating or Waiting, and would lose the checkpoint in them after a rollback. Beats have these phases.
func (p Phase) Reported() Phase {
	if p == PhaseEvaluating || p == PhaseWaiting {
		return PhaseTraining
	}
	return p
}

// SaveState is how far a save has got.
type SaveState string

const (
	SaveSaving    SaveState = "Saving"
	SaveCommitted SaveState = "Committed"
	SaveFailed    SaveState = "Failed"
)

// Status is what a trainer writes about itself to EnvStatusFile. Only step is required.
type Status struct {
	// Step is the last finished step, counted over all attempts: it continues after a resume.
	Step       int64   `json:"step" rule:"required,min=0,max=9007199254740992"`
	TotalSteps int64   `json:"totalSteps,omitempty" rule:"min=1,max=9007199254740992"`
	Phase      Phase   `json:"phase,omitempty" rule:"enum=Starting|Training|Saving|Evaluating|Waiting|Completed"`
	Epoch      float64 `json:"epoch,omitempty" rule:"min=0,max=1000000000"`
	// TotalEpochs may be fractional, like Epoch.
	TotalEpochs float64 `json:"totalEpochs,omitempty" rule:"min=0,max=1000000000"`
	// StepSeconds is how long one step takes.
	StepSeconds float64 `json:"stepSeconds,omitempty" rule:"min=0,max=1000000"`
	// Metrics by name, such as loss: numbers, or strings that hold one, since JSON has no NaN.
	Metrics map[string]Metric `json:"metrics,omitempty" rule:"maxItems=32,keys=metric"`
	// Checkpoint is required on object stores, where only the trainer sees the files. On volumes the agent
	// looks for itself, and this only announces a save in progress.
	Checkpoint *Save `json:"checkpoint,omitempty"`
	// CommandID of the last Command that the trainer has carried out.
	CommandID string `json:"commandId,omitempty" rule:"maxLen=64,pattern=id"`
	// Batch identifies the samples of Step, such as a hash of their numbers. Rehearsals compare it.
	Batch string `json:"batch,omitempty" rule:"maxLen=64,pattern=printable"`
	// Weights is a hash of the weights after loading, equal in all ranks that hold the same weights.
	Weights string `json:"weights,omitempty" rule:"maxLen=64,pattern=printable"`
	// Loaded is the path or URI of the checkpoint that the trainer has loaded.
	Loaded string `json:"loaded,omitempty" rule:"maxLen=1024,pattern=printable"`
}

// Save is what a trainer or an agent says about one checkpoint.
type Save struct {
	State SaveState `json:"state" rule:"required,enum=Saving|Committed|Failed"`
	// URI of the checkpoint. A trainer that saves to a volume may omit it or give a path.
	URI  string `json:"uri,omitempty" rule:"maxLen=1024,pattern=printable"`
	Step int64  `json:"step" rule:"required,min=0,max=9007199254740992"`
	// CommittedAt by the writer's clock, for display only: nothing is ordered by it.
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
	// CommandKill and CommandKillInSave are for the agent of a rehearsal's rank 0, not for its trainer. The
	// agent kills the trainer's processes: at once, or while the trainer writes a checkpoint, which the agent
	// requests.
	CommandKill       CommandName = "Kill"
	CommandKillInSave CommandName = "KillInSave"
)

// Command is what the agent writes to EnvCommandFile.
type Command struct {
	Command CommandName `json:"command" rule:"required,enum=Checkpoint|CheckpointAndExit"`
	// ID is unique per command, so that a trainer carries out each command once.
	ID string `json:"id" rule:"required,maxLen=64,pattern=id"`
	// Deadline after which the pod is ended whether or not the save is done. Absent: no deadline.
	Deadline *time.Time `json:"deadline,omitempty"`
}

// Settings are what the job asks of its checkpoints and may change while it runs. The agent writes them to
// EnvSettingsFile.
type Settings struct {
	// IntervalSeconds is the longest time between two checkpoints.
	IntervalSeconds int32 `json:"intervalSeconds" rule:"required,min=1,max=604800"`
	// KeepLast is how many complete checkpoints to keep.
	KeepLast int32 `json:"keepLast" rule:"required,min=1,max=1000"`
}

// HeaderSettings in a report's request, with the value "1", says that the agent knows Answer.Settings and
// Answer.RetainLast. An older one would refuse an answer with them.
const HeaderSettings = "Trainingjob-Settings"

// HeaderResume in a report's request, with the value "1", says that the sender only asks for
// Answer.ResumeFrom. Any rank may ask, and the report is not kept.
const HeaderResume = "Trainingjob-Resume"

// Manifest lists a checkpoint's files. Its presence marks the checkpoint complete, because it is written
// last: temporary file, fsync, rename.
type Manifest struct {
	Version int32 `json:"version" rule:"required,min=1,max=1"`
	// JobUID tells apart the checkpoints of jobs that share a directory.
	JobUID    string  `json:"jobUID,omitempty" rule:"maxLen=64,pattern=id"`
	Attempt   int32   `json:"attempt,omitempty" rule:"min=1,max=1000000"`
	Step      int64   `json:"step" rule:"required,min=0,max=9007199254740992"`
	Epoch     float64 `json:"epoch,omitempty" rule:"min=0,max=1000000000"`
	WorldSize int32   `json:"worldSize,omitempty" rule:"min=1,max=1000000"`
	Framework string  `json:"framework,omitempty" rule:"maxLen=64,pattern=printable"`
	Files     []File  `json:"files" rule:"required,minItems=1,maxItems=20000"`
}

// File is one file of a checkpoint. Name is its path relative to the manifest.
type File struct {
	Name   string `json:"name" rule:"required,maxLen=512,pattern=file"`
	Size   int64  `json:"size" rule:"required,min=0,max=1152921504606846976"`
	SHA256 string `json:"sha256,omitempty" rule:"maxLen=64,pattern=sha256"`
}

// Report is what the agent of rank 0, or `agent resolve`, posts to the report server.
type Report struct {
	Attempt int32 `json:"attempt" rule:"required,min=1,max=1000000"`
	// Phase as Phase.Reported returns it: an operator that does not know a phase refuses the report.
	Phase       Phase             `json:"phase" rule:"required,enum=Starting|Training|Saving|Completed|Resolved"`
	Step        int64             `json:"step,omitempty" rule:"min=0,max=9007199254740992"`
	TotalSteps  int64             `json:"totalSteps,omitempty" rule:"min=1,max=9007199254740992"`
	Epoch       float64           `json:"epoch,omitempty" rule:"min=0,max=1000000000"`
	TotalEpochs float64           `json:"totalEpochs,omitempty" rule:"min=0,max=1000000000"`
	StepSeconds float64           `json:"stepSeconds,omitempty" rule:"min=0,max=1000000"`
	Metrics     map[string]Metric `json:"metrics,omitempty" rule:"maxItems=32,keys=metric"`
	// Start identifies one start of the trainer, where a rank may start again inside an attempt (restartScope
	// Rank). The steps of another start may be lower.
	Start string `json:"start,omitempty" rule:"maxLen=64,pattern=id"`
	// FirstStep is the first step that this trainer named in a phase other than Starting. A trainer
	// whose first step is below the resume point's has ignored it. Absent until then.
	FirstStep *int64 `json:"firstStep,omitempty" rule:"min=0,max=9007199254740992"`
	// Checkpoint is the newest one. A commit is repeated in every later report.
	Checkpoint *Save `json:"checkpoint,omitempty"`
	// Layout of that checkpoint.
	Layout Layout `json:"layout,omitempty" rule:"maxLen=32,pattern=printable"`
	// CommandID is the last command that the trainer says it has carried out, DeliveredID the last that it
	// was given.
	CommandID   string `json:"commandId,omitempty" rule:"maxLen=64,pattern=id"`
	DeliveredID string `json:"deliveredId,omitempty" rule:"maxLen=64,pattern=id"`
	// PassedOver are the incomplete checkpoints newer than Checkpoint, newest first.
	PassedOver []Passed `json:"passedOver,omitempty" rule:"maxItems=8"`
	// Source of phase, step and metrics; absent: the status file. An operator that does not know it refuses the
	// report.
	Source Source `json:"source,omitempty" rule:"enum=Kubeflow"`
	// Problem for the user or the admin to fix. It does not affect the training.
	Problem string `json:"problem,omitempty" rule:"maxLen=512,pattern=printable"`
	// Rehearsal is what the agents saw in this attempt of a rehearsal and in the one before, by attempt.
	Rehearsal []Evidence `json:"rehearsal,omitempty" rule:"maxItems=2"`
}

// Beat is what the agent of every rank posts, for the verdict whether its gang hangs. It has ages and no
// times, since clocks differ. Rank and job are those of the pod that the token is bound to.
type Beat struct {
	Attempt int32 `json:"attempt" rule:"required,min=1,max=1000000"`
	// Step that the rank has finished: of several processes the lowest, each with the highest that it has
	// written in this attempt. Absent: it has written none.
	Step *int64 `json:"step,omitempty" rule:"min=0,max=9007199254740992"`
	// Phase that the trainer is in. Of several processes, the one that may last longest. Absent: it has named
	// none.
	Phase Phase `json:"phase,omitempty" rule:"enum=Starting|Training|Saving|Evaluating|Waiting|Completed"`
	// Labels: the trainer has named Evaluating or Waiting in this attempt, so another phase without progress is
	// no evaluation.
	Labels bool `json:"labels,omitempty"`
	// Where is the trainer's own word for the place in its code.
	Where string `json:"where,omitempty" rule:"maxLen=64,pattern=printable"`
	// IdleSeconds since the last progress of any process: a higher step or another phase in the beat file or the
	// status file, any change of a text without a step, or the trainer's start.
	IdleSeconds float64 `json:"idleSeconds" rule:"required,min=0,max=100000000"`
	// LongestPauseSeconds between two signs of progress after the first step, of those that have ended. Pauses
	// in Saving, Evaluating and Waiting do not count.
	LongestPauseSeconds float64 `json:"longestPauseSeconds,omitempty" rule:"min=0,max=100000000"`
	// StepSeconds is the median of the last steps.
	StepSeconds float64 `json:"stepSeconds,omitempty" rule:"min=0,max=1000000"`
	// FirstStepSeconds from the trainer's start to its first step. Absent: it has finished none.
	FirstStepSeconds float64 `json:"firstStepSeconds,omitempty" rule:"min=0,max=100000000"`
	// BusySeconds of a step outside collectives, as the trainer measures it; the median of the last steps.
	BusySeconds float64 `json:"busySeconds,omitempty" rule:"min=0,max=1000000"`
	// CPUs that the container used, and bytes that it moved in a second, over the last interval.
	CPUs                  float64 `json:"cpus,omitempty" rule:"min=0,max=100000"`
	DiskBytesPerSecond    float64 `json:"diskBytesPerSecond,omitempty" rule:"min=0,max=1000000000000000"`
	NetworkBytesPerSecond float64 `json:"networkBytesPerSecond,omitempty" rule:"min=0,max=1000000000000000"`
	// State of the trainer's processes: T if all are stopped, D if one waits for a disk, R if one runs, else S.
	// StateSeconds is for how long.
	State        ProcessState `json:"state,omitempty" rule:"enum=R|S|D|T"`
	StateSeconds float64      `json:"stateSeconds,omitempty" rule:"min=0,max=100000000"`
}

// ProcessState is a state of a process, as in proc_pid_stat(5).
type ProcessState string

// States of a trainer's processes.
const (
	ProcessRuns      ProcessState = "R"
	ProcessSleeps    ProcessState = "S"
	ProcessWaitsDisk ProcessState = "D"
	ProcessStopped   ProcessState = "T"
)

// BeatAnswer is the report server's answer to a Beat.
type BeatAnswer struct {
	// MinIntervalSeconds to wait before the next beat.
	MinIntervalSeconds int32 `json:"minIntervalSeconds" rule:"required,min=1,max=3600"`
}

// Source is where an agent has a trainer's progress from.
type Source string

// SourceKubeflow is the progress protocol of Kubeflow Trainer.
const SourceKubeflow Source = "Kubeflow"

// Passed is a checkpoint that is passed over, and why it cannot be resumed from.
type Passed struct {
	URI string `json:"uri" rule:"required,maxLen=1024,pattern=printable"`
	Why string `json:"why" rule:"required,maxLen=256,pattern=printable"`
}

// Answer is the report server's answer to a Report. It carries the operator's command.
type Answer struct {
	Command  CommandName `json:"command" rule:"required,enum=None|Checkpoint|CheckpointAndExit|Kill|KillInSave"`
	ID       string      `json:"id,omitempty" rule:"maxLen=64,pattern=id"`
	Deadline *time.Time  `json:"deadline,omitempty"`
	// Attempt that is the job's, if it is the report's: by then the report's commit is persisted, and no later
	// attempt can resume from anything older. Absent for a report of a former attempt.
	Attempt int32 `json:"attempt,omitempty" rule:"min=1,max=1000000"`
	// Settings that hold now, where the report's agent knows of them (see HeaderSettings).
	Settings *Settings `json:"settings,omitempty"`
	// RetainLast is how many complete checkpoints the agent leaves on the volume; absent with Settings: it
	// deletes none.
	RetainLast int32 `json:"retainLast,omitempty" rule:"min=1,max=1000"`
	// ResumeFrom is what a rank that starts now resumes from, as its trainer sees it; empty: it starts from
	// scratch. Absent where the sender did not ask for it (see HeaderResume).
	ResumeFrom *string `json:"resumeFrom,omitempty" rule:"maxLen=1024,pattern=printable"`
	// MinIntervalSeconds to wait before the next report, unless a checkpoint is committed or the trainer
	// ends.
	MinIntervalSeconds int32 `json:"minIntervalSeconds,omitempty" rule:"min=1,max=3600"`
}

// Termination is the pod's termination message, written by the agent as it exits. The kubelet puts it into
// the pod's status, where it outlasts the container and reaches an operator that no report has reached.
type Termination struct {
	Reason   ExitReason `json:"reason" rule:"required,enum=Completed|Exited|Signaled|GraceExceeded|StartFailed|Resolved|Failed"`
	ExitCode int32      `json:"exitCode" rule:"required,min=0,max=255"`
	Signal   string     `json:"signal,omitempty" rule:"maxLen=16,pattern=printable"`
	Attempt  int32      `json:"attempt,omitempty" rule:"min=1,max=1000000"`
	// Phase as Phase.Reported returns it.
	Phase Phase  `json:"phase,omitempty" rule:"enum=Starting|Training|Saving|Completed|Resolved"`
	Step  *int64 `json:"step,omitempty" rule:"min=0,max=9007199254740992"`
	// Checkpoint is the newest complete one of this attempt; from `agent resolve`, of all attempts.
	Checkpoint *Save    `json:"checkpoint,omitempty"`
	Layout     Layout   `json:"layout,omitempty" rule:"maxLen=32,pattern=printable"`
	PassedOver []Passed `json:"passedOver,omitempty" rule:"maxItems=8"`
	Problem    string   `json:"problem,omitempty" rule:"maxLen=512,pattern=printable"`
	// Log is the end of the trainer's stderr, after a failure.
	Log string `json:"log,omitempty" rule:"maxLen=4096"`
}

// ExitReason is how a trainer ended.
type ExitReason string

const (
	// ExitCompleted: exit code 0, and the status file reported Completed.
	ExitCompleted ExitReason = "Completed"
	ExitExited    ExitReason = "Exited"
	ExitSignaled  ExitReason = "Signaled"
	// ExitGraceExceeded: it was killed because it still ran when its grace period was over.
	ExitGraceExceeded ExitReason = "GraceExceeded"
	ExitStartFailed   ExitReason = "StartFailed"
	// ExitResolved and ExitFailed are the outcomes of `agent resolve`.
	ExitResolved ExitReason = "Resolved"
	ExitFailed   ExitReason = "Failed"
)

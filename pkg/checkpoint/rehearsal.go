package checkpoint

// Evidence is what the agents saw in one attempt of a rehearsal, and how it compares with the attempts
// before. An absent field was not seen. RehearsalEvidence of the API has the same fields, without
// ExitCode and Requested.
type Evidence struct {
	Attempt int32 `json:"attempt" rule:"required,min=1,max=1000000"`
	// FirstStep that the trainer of rank 0 finished.
	FirstStep *int64 `json:"firstStep,omitempty" rule:"min=0,max=9007199254740992"`
	// LastStep that it finished.
	LastStep *int64 `json:"lastStep,omitempty" rule:"min=0,max=9007199254740992"`
	// Phase that the trainer of rank 0 is in. Unlike Report.Phase, it can be Evaluating or Waiting.
	Phase Phase `json:"phase,omitempty" rule:"enum=Starting|Training|Saving|Evaluating|Waiting|Completed"`
	// Evaluated: the trainer has been in phase Evaluating in this attempt.
	Evaluated bool `json:"evaluated,omitempty"`
	// ExitCode of the agent of rank 0, which is that of its trainer. The API has it beside the evidence.
	ExitCode *int32 `json:"exitCode,omitempty" rule:"min=0,max=255"`
	// Requested: the request to save and exit reached the trainer, and graceSeconds passed before SIGTERM if
	// that came. It is known once ExitCode is.
	Requested bool `json:"requested,omitempty"`
	// StartMilliseconds from the trainer's start to its first step.
	StartMilliseconds int64 `json:"startMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	// StepMilliseconds is the median time of a step.
	StepMilliseconds int64 `json:"stepMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	// CommonSteps that an earlier attempt has trained too, with a loss in both.
	CommonSteps int32 `json:"commonSteps,omitempty" rule:"min=0,max=1000000000"`
	// DifferingSteps of them whose losses have different texts.
	DifferingSteps int32 `json:"differingSteps,omitempty" rule:"min=0,max=1000000000"`
	// LossBasisPoints is the median difference of these losses, in hundredths of a percent of the larger one.
	LossBasisPoints int32 `json:"lossBasisPoints,omitempty" rule:"min=0,max=1000000000"`
	// DifferentLoss is the first step with another loss.
	DifferentLoss *Difference `json:"differentLoss,omitempty"`
	// CommonBatches is the number of steps that an earlier attempt has trained too, with a batch in both.
	CommonBatches int32 `json:"commonBatches,omitempty" rule:"min=0,max=1000000000"`
	// DifferingBatches of them.
	DifferingBatches int32 `json:"differingBatches,omitempty" rule:"min=0,max=1000000000"`
	// DifferentBatch is the first step with another batch.
	DifferentBatch *Difference `json:"differentBatch,omitempty"`
	// BatchOfStep is the earlier step that had the batch of DifferentBatch.
	BatchOfStep *int64 `json:"batchOfStep,omitempty" rule:"min=0,max=9007199254740992"`
	// Ranks whose agents left a trace.
	Ranks int32 `json:"ranks,omitempty" rule:"min=0,max=1000000000"`
	// LoadedRanks of them whose trainer opened, mapped or reported the resume point.
	LoadedRanks int32 `json:"loadedRanks,omitempty" rule:"min=0,max=1000000000"`
	// LoadedOther is another checkpoint that a trainer read, as its path.
	LoadedOther string `json:"loadedOther,omitempty" rule:"maxLen=1024,pattern=printable"`
	// WeightsRanks reported a hash of their weights after loading.
	WeightsRanks int32 `json:"weightsRanks,omitempty" rule:"min=0,max=1000000000"`
	// WeightsDiffer: the hashes of two ranks differ.
	WeightsDiffer bool `json:"weightsDiffer,omitempty"`
	// WritingRanks wrote files below the checkpoint directory.
	WritingRanks int32 `json:"writingRanks,omitempty" rule:"min=0,max=1000000000"`
	// OutsidePath is the largest file that a trainer wrote outside the checkpoint directory, if no complete
	// checkpoint was inside.
	OutsidePath string `json:"outsidePath,omitempty" rule:"maxLen=1024,pattern=printable"`
	// OutsideBytes is its size.
	OutsideBytes int64 `json:"outsideBytes,omitempty" rule:"min=0,max=9007199254740992"`
	// SaveMilliseconds is the longest time from the first file of a save to its completion.
	SaveMilliseconds int64 `json:"saveMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	// Saves that became complete.
	Saves int32 `json:"saves,omitempty" rule:"min=0,max=1000000000"`
	// CutOffPath is the save that the agent cut off, with way KillInSave.
	CutOffPath string `json:"cutOffPath,omitempty" rule:"maxLen=1024,pattern=printable"`
	// CutOffMilliseconds after its first file.
	CutOffMilliseconds int64 `json:"cutOffMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	// CutOffTries to meet a save.
	CutOffTries int32 `json:"cutOffTries,omitempty" rule:"min=0,max=1000000000"`
	// CutOffComplete: after the kill, the agent takes the save that was cut off for complete.
	CutOffComplete bool `json:"cutOffComplete,omitempty"`
	// CompleteLeft is the number of complete checkpoints on the volume at the end of the attempt.
	CompleteLeft *int32 `json:"completeLeft,omitempty" rule:"min=0,max=1000000000"`
	// StrayFiles below the checkpoint directory that belong to no checkpoint whose parts the agent knows.
	StrayFiles int32 `json:"strayFiles,omitempty" rule:"min=0,max=1000000000"`
}

// Difference is a step that was trained twice, with different results.
type Difference struct {
	Step   int64  `json:"step" rule:"required,min=0,max=9007199254740992"`
	Before string `json:"before" rule:"required,maxLen=64,pattern=printable"`
	After  string `json:"after" rule:"required,maxLen=64,pattern=printable"`
}

// MaxTracedSteps are the steps that a Trace has: the first and the last of its attempt, half of each.
const MaxTracedSteps = 512

// Trace is what the agent of one rank saw of its trainer in one attempt of a rehearsal. The agents of all
// ranks write theirs to the volume. That of rank 0 reads them and makes Evidence of them. Every field that
// is absent was not seen.
type Trace struct {
	Attempt int32 `json:"attempt" rule:"required,min=1,max=1000000"`
	Rank    int32 `json:"rank" rule:"required,min=0,max=1000000"`
	// FirstStep that the trainer finished, and LastStep.
	FirstStep *int64 `json:"firstStep,omitempty" rule:"min=0,max=9007199254740992"`
	LastStep  *int64 `json:"lastStep,omitempty" rule:"min=0,max=9007199254740992"`
	// StartMilliseconds from the trainer's start to its first step.
	StartMilliseconds int64 `json:"startMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	// StepMilliseconds is the median time of a step.
	StepMilliseconds int64 `json:"stepMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	// Phase that the trainer is in. Evaluated: it has been in phase Evaluating.
	Phase     Phase `json:"phase,omitempty" rule:"enum=Starting|Training|Saving|Evaluating|Waiting|Completed"`
	Evaluated bool  `json:"evaluated,omitempty"`
	// Steps with a loss or a batch, by step.
	Steps []TracedStep `json:"steps,omitempty" rule:"maxItems=512"`
	// Loaded: the trainer opened, mapped or reported the resume point.
	Loaded bool `json:"loaded,omitempty"`
	// LoadedOther is another checkpoint that the trainer read or reported, as its path.
	LoadedOther string `json:"loadedOther,omitempty" rule:"maxLen=1024,pattern=printable"`
	// Weights is the trainer's hash of its weights after loading.
	Weights string `json:"weights,omitempty" rule:"maxLen=64,pattern=printable"`
	// Wrote: the trainer wrote a file below the checkpoint directory.
	Wrote bool `json:"wrote,omitempty"`
	// OutsidePath is the largest file that the trainer wrote elsewhere, OutsideBytes its size.
	OutsidePath  string `json:"outsidePath,omitempty" rule:"maxLen=1024,pattern=printable"`
	OutsideBytes int64  `json:"outsideBytes,omitempty" rule:"min=0,max=9007199254740992"`

	// What follows is of rank 0 alone: Saves to CutOffTries as in Evidence.
	Saves              int32  `json:"saves,omitempty" rule:"min=0,max=1000000000"`
	SaveMilliseconds   int64  `json:"saveMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	CutOffPath         string `json:"cutOffPath,omitempty" rule:"maxLen=1024,pattern=printable"`
	CutOffMilliseconds int64  `json:"cutOffMilliseconds,omitempty" rule:"min=0,max=9007199254740992"`
	CutOffTries        int32  `json:"cutOffTries,omitempty" rule:"min=0,max=1000000000"`
	// ExitCode of the agent, after the trainer's end. Requested as in Evidence.
	ExitCode  *int32 `json:"exitCode,omitempty" rule:"min=0,max=255"`
	Requested bool   `json:"requested,omitempty"`
	// Before is the volume as the attempt before left it, After as this one does.
	Before *TracedVolume `json:"before,omitempty"`
	After  *TracedVolume `json:"after,omitempty"`
}

// TracedStep is what a trainer reported of one step.
type TracedStep struct {
	Step int64 `json:"step" rule:"required,min=0,max=9007199254740992"`
	// Loss as the trainer wrote it.
	Loss  string `json:"loss,omitempty" rule:"maxLen=32,pattern=printable"`
	Batch string `json:"batch,omitempty" rule:"maxLen=64,pattern=printable"`
}

// TracedVolume is what an agent found on the volume.
type TracedVolume struct {
	// Complete checkpoints.
	Complete int32 `json:"complete" rule:"required,min=0,max=1000000000"`
	// StrayFiles belong to no checkpoint whose parts the agent knows.
	StrayFiles int32 `json:"strayFiles,omitempty" rule:"min=0,max=1000000000"`
	// CutOffComplete: the save that the agent cut off last looks complete.
	CutOffComplete bool `json:"cutOffComplete,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RehearsalWay is how the operator ends one attempt of a rehearsal.
// +kubebuilder:validation:Enum=Kill;Ask;Term;KillInSave
type RehearsalWay string

const (
	// RehearsalKill means that the agent of rank 0 kills its trainer without notice, as a lost node would.
	RehearsalKill RehearsalWay = "Kill"
	// RehearsalAsk means that the operator requests a checkpoint, after which the trainer exits.
	RehearsalAsk RehearsalWay = "Ask"
	// RehearsalTerm means that the operator deletes the pods, without a request before.
	RehearsalTerm RehearsalWay = "Term"
	// RehearsalKillInSave means that the operator requests a checkpoint, and the agent of rank 0 kills its
	// trainer while the trainer writes it.
	RehearsalKillInSave RehearsalWay = "KillInSave"
)

// RehearsalPolicy makes the job a rehearsal: the operator ends its attempts in the given ways, one after the
// other, and checks that the trainer saves and resumes. It needs spec.checkpoint, restartScope Gang and a
// report server.
type RehearsalPolicy struct {
	// Ways to end attempts, in this order; 1 to 8. Default: Kill, Ask, Term, KillInSave. One more attempt
	// follows, which must resume.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Ways []RehearsalWay `json:"ways,omitempty"`
	// OverlapSteps to train after the checkpoint that the next attempt resumes from. They are trained twice and
	// compared: 5 to 200, default 20.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=200
	OverlapSteps *int32 `json:"overlapSteps,omitempty"`
	// Exact: the losses of a step must have the same text.
	// +optional
	Exact bool `json:"exact,omitempty"`
	// TolerancePercent is the median difference of the losses of the same steps that passes without exact: 1 to
	// 100, default 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TolerancePercent *int32 `json:"tolerancePercent,omitempty"`
	// TimeoutSeconds that all attempts together may run, and as long again in the queue: 300 to 86400, default
	// 3600.
	// +optional
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// RehearsalOutcome is the result of a check.
// +kubebuilder:validation:Enum=Passed;Failed;Warning;NotSeen
type RehearsalOutcome string

const (
	// RehearsalPassed means that the operator saw what the check requires.
	RehearsalPassed RehearsalOutcome = "Passed"
	// RehearsalFailed means that the trainer does not do what the check requires.
	RehearsalFailed RehearsalOutcome = "Failed"
	// RehearsalWarning means that the trainer resumes, but not as well as it could.
	RehearsalWarning RehearsalOutcome = "Warning"
	// RehearsalNotSeen means that the operator could not observe what the check compares.
	RehearsalNotSeen RehearsalOutcome = "NotSeen"
)

// RehearsalCheckName is what a check is about.
// +kubebuilder:validation:Enum=Reports;Saves;SavesInTime;Resumes;Loaded;Continues;Data;Torn;Retention;Exit
type RehearsalCheckName string

const (
	// CheckReports: rank 0 writes its status file.
	CheckReports RehearsalCheckName = "Reports"
	// CheckSaves: complete checkpoints appear below the checkpoint directory, with the right step.
	CheckSaves RehearsalCheckName = "Saves"
	// CheckSavesInTime: the trainer saves within graceSeconds when it is asked, or its pods are deleted.
	CheckSavesInTime RehearsalCheckName = "SavesInTime"
	// CheckResumes: each attempt begins at the step after its resume point.
	CheckResumes RehearsalCheckName = "Resumes"
	// CheckLoaded: each rank reads the checkpoint that it was given.
	CheckLoaded RehearsalCheckName = "Loaded"
	// CheckContinues: the steps that were trained twice have the same loss.
	CheckContinues RehearsalCheckName = "Continues"
	// CheckData: the steps that were trained twice had the same batches.
	CheckData RehearsalCheckName = "Data"
	// CheckTorn: a save that was cut off is not resumed from, and leaves an older one whole.
	CheckTorn RehearsalCheckName = "Torn"
	// CheckRetention: spec.checkpoint.keepLast holds, and the resume point is never deleted.
	CheckRetention RehearsalCheckName = "Retention"
	// CheckExit: the trainer exits with 0 after it has saved on request or at SIGTERM.
	CheckExit RehearsalCheckName = "Exit"
)

// RehearsalResult is the outcome of a rehearsal.
// +kubebuilder:validation:Enum=Passed;Failed;Incomplete
type RehearsalResult string

const (
	// RehearsalResultPassed means that no check failed. Saves and Resumes passed.
	RehearsalResultPassed RehearsalResult = "Passed"
	// RehearsalResultFailed means that a check failed.
	RehearsalResultFailed RehearsalResult = "Failed"
	// RehearsalResultIncomplete means that not all ways were played, or Saves or Resumes was not seen.
	RehearsalResultIncomplete RehearsalResult = "Incomplete"
)

// RehearsalStatus is what the operator has seen of a rehearsal.
type RehearsalStatus struct {
	// Result. Absent while the rehearsal runs.
	// +optional
	Result RehearsalResult `json:"result,omitempty"`
	// Checks by name, in the order in which they can be made.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Checks []RehearsalCheck `json:"checks,omitempty"`
	// Attempts that have trained, oldest first; at most the number of ways and 3.
	// +optional
	// +listType=map
	// +listMapKey=attempt
	// +kubebuilder:validation:MaxItems=16
	Attempts []RehearsalAttempt `json:"attempts,omitempty"`
}

// RehearsalCheck is one result.
type RehearsalCheck struct {
	// Name of the check.
	Name RehearsalCheckName `json:"name"`
	// Outcome of the check so far.
	Outcome RehearsalOutcome `json:"outcome"`
	// Attempt that decided the outcome. Absent: several did.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Message with what was seen, and the remedy of a failure.
	// +optional
	Message string `json:"message,omitempty"`
}

// RehearsalAttempt is what the operator did to one attempt, and what it and the agents saw.
type RehearsalAttempt struct {
	// Attempt is its number.
	Attempt int32 `json:"attempt"`
	// Way in which the operator ended it. Absent: it runs, ended by itself, or is the last one.
	// +optional
	Way RehearsalWay `json:"way,omitempty"`
	// Interrupted: something else ended the attempt, and its way is played again.
	// +optional
	Interrupted bool `json:"interrupted,omitempty"`
	// ResumeStep of the checkpoint that it was given. Absent: it started from scratch.
	// +optional
	ResumeStep *int64 `json:"resumeStep,omitempty"`
	// EndStep is the last step that rank 0 reported before the operator began to end the attempt.
	// +optional
	EndStep *int64 `json:"endStep,omitempty"`
	// EndPhase is what the trainer did then, such as Training or Evaluating.
	// +optional
	EndPhase string `json:"endPhase,omitempty"`
	// SavedStep of the newest complete checkpoint after the attempt.
	// +optional
	SavedStep *int64 `json:"savedStep,omitempty"`
	// EndTime is when the operator began to end the attempt.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// SavedAfterSeconds from EndTime to the checkpoint that the operator requested. Absent: none arrived.
	// +optional
	SavedAfterSeconds *int64 `json:"savedAfterSeconds,omitempty"`
	// EndedAfterSeconds from EndTime to the end of the last rank.
	// +optional
	EndedAfterSeconds *int64 `json:"endedAfterSeconds,omitempty"`
	// Failure is how a rank ended by itself, in at most 256 bytes. Absent: none did.
	// +optional
	Failure string `json:"failure,omitempty"`
	// ExitCode of rank 0. Absent if unknown.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Evidence of the agents. Absent if they sent none.
	// +optional
	Evidence *RehearsalEvidence `json:"evidence,omitempty"`
}

// RehearsalEvidence is what the agents saw in one attempt, and how it compares with the attempts before. An
// absent field was not seen.
type RehearsalEvidence struct {
	// FirstStep that the trainer of rank 0 finished.
	// +optional
	FirstStep *int64 `json:"firstStep,omitempty"`
	// LastStep that it finished.
	// +optional
	LastStep *int64 `json:"lastStep,omitempty"`
	// Phase of rank 0's trainer, such as Evaluating.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Evaluated: the trainer has been in phase Evaluating.
	// +optional
	Evaluated bool `json:"evaluated,omitempty"`
	// StartMilliseconds from the trainer's start to its first step.
	// +optional
	StartMilliseconds int64 `json:"startMilliseconds,omitempty"`
	// StepMilliseconds is the median time of a step.
	// +optional
	StepMilliseconds int64 `json:"stepMilliseconds,omitempty"`
	// CommonSteps that an earlier attempt has trained too, with a loss in both.
	// +optional
	CommonSteps int32 `json:"commonSteps,omitempty"`
	// DifferingSteps of them whose losses have different texts.
	// +optional
	DifferingSteps int32 `json:"differingSteps,omitempty"`
	// LossBasisPoints is the median difference of these losses, in 0.01% of the larger one.
	// +optional
	LossBasisPoints int32 `json:"lossBasisPoints,omitempty"`
	// DifferentLoss is the first step with another loss.
	// +optional
	DifferentLoss *RehearsalDifference `json:"differentLoss,omitempty"`
	// CommonBatches of steps that an earlier attempt has trained too.
	// +optional
	CommonBatches int32 `json:"commonBatches,omitempty"`
	// DifferingBatches of them.
	// +optional
	DifferingBatches int32 `json:"differingBatches,omitempty"`
	// DifferentBatch is the first step with another batch.
	// +optional
	DifferentBatch *RehearsalDifference `json:"differentBatch,omitempty"`
	// BatchOfStep is the earlier step that had the batch of DifferentBatch.
	// +optional
	BatchOfStep *int64 `json:"batchOfStep,omitempty"`
	// Ranks whose agents left a trace.
	// +optional
	Ranks int32 `json:"ranks,omitempty"`
	// LoadedRanks of them whose trainer opened, mapped or reported the resume point.
	// +optional
	LoadedRanks int32 `json:"loadedRanks,omitempty"`
	// LoadedOther is another checkpoint that a trainer read, as its path.
	// +optional
	LoadedOther string `json:"loadedOther,omitempty"`
	// WeightsRanks reported a hash of their weights after loading.
	// +optional
	WeightsRanks int32 `json:"weightsRanks,omitempty"`
	// WeightsDiffer: the hashes of two ranks differ.
	// +optional
	WeightsDiffer bool `json:"weightsDiffer,omitempty"`
	// WritingRanks wrote files below the checkpoint directory.
	// +optional
	WritingRanks int32 `json:"writingRanks,omitempty"`
	// OutsidePath is the largest file that a trainer wrote outside the checkpoint directory, if no complete
	// checkpoint was inside.
	// +optional
	OutsidePath string `json:"outsidePath,omitempty"`
	// OutsideBytes is its size.
	// +optional
	OutsideBytes int64 `json:"outsideBytes,omitempty"`
	// SaveMilliseconds of the longest save, from its first file to its completion.
	// +optional
	SaveMilliseconds int64 `json:"saveMilliseconds,omitempty"`
	// Saves that became complete.
	// +optional
	Saves int32 `json:"saves,omitempty"`
	// CutOffPath is the save that the agent cut off.
	// +optional
	CutOffPath string `json:"cutOffPath,omitempty"`
	// CutOffMilliseconds after its first file.
	// +optional
	CutOffMilliseconds int64 `json:"cutOffMilliseconds,omitempty"`
	// CutOffTries to meet a save.
	// +optional
	CutOffTries int32 `json:"cutOffTries,omitempty"`
	// CutOffComplete: the agent takes that save for complete.
	// +optional
	CutOffComplete bool `json:"cutOffComplete,omitempty"`
	// CompleteLeft is the number of complete checkpoints at the end of the attempt.
	// +optional
	CompleteLeft *int32 `json:"completeLeft,omitempty"`
	// StrayFiles belong to no checkpoint whose parts the agent knows.
	// +optional
	StrayFiles int32 `json:"strayFiles,omitempty"`
}

// RehearsalDifference is a step that was trained twice, with different results.
type RehearsalDifference struct {
	// Step that was trained twice.
	Step int64 `json:"step"`
	// Before is the result of the earlier attempt; at most 64 characters.
	Before string `json:"before"`
	// After is the result of the later attempt; at most 64 characters.
	After string `json:"after"`
}

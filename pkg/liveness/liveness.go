package liveness

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Rank is one rank of a running gang.
type Rank struct {
	Pod, Node string
	NodeReady bool
	// Trains is false for parameter servers, evaluators and MPI launchers, which make no steps.
	Trains bool
	// Beat is the last one of the current attempt; nil: none has arrived since this process leads.
	Beat *checkpoint.Beat
	// Age of the beat; of a rank without one, how long it could have sent one to this process, or 0.
	Age time.Duration
}

// Gang is the input of Judge: a gang in phase Running.
type Gang struct {
	Ranks []Rank
	// Running since the gang entered phase Running.
	Running time.Duration
	// Interval that the report server asks for between two beats of a rank.
	Interval time.Duration
	Limits   Limits
	Past     Past
}

// Limits of a job, see v1alpha1.LivenessPolicy.
type Limits struct {
	Hang, FirstStep, Saving, LongPhase time.Duration
	// HangChosen: the user has set Hang, so it also holds for trainers that label no evaluation.
	HangChosen bool
	// SlowPercent of Past.Step is slow.
	SlowPercent int32
}

// Past is what the status knows of the job's earlier attempts.
type Past struct {
	// LongestPause between two signs of progress, already halved by the weeks since.
	LongestPause time.Duration
	// Step is the job's median step time; 0: unknown.
	Step time.Duration
}

// Suspect is a rank that the others wait for.
type Suspect = v1alpha1.Suspect

// Verdict about a gang.
type Verdict struct {
	State v1alpha1.LivenessState
	// Idle is the age of the last progress of any rank, and Limit what it must not reach; 0 in state Unknown.
	Idle, Limit time.Duration
	// Step is the highest finished one; nil: none.
	Step *int64
	// Watched ranks train; Reporting of them have sent a beat in this attempt in the last 3 intervals.
	Watched, Reporting int32
	// Suspects, at most 8, by name. Strong: their evidence is. Those of a gang in state Progressing are silent.
	Suspects []Suspect
	Strong   bool
	// Node of all suspects, of those beyond the eight too; empty if they are on several.
	Node string
	// Ahead is the number of watched ranks that have finished Step.
	Ahead int32
	// Active: some rank moves data while others do not, so a restart must wait.
	Active bool
	// StepTime is the median step time of this attempt, and LongestPause the longest of its ended pauses; 0:
	// unknown.
	StepTime, LongestPause time.Duration
	// Next is how long the verdict holds if no other beat arrives, 5 s at least: until Idle reaches Limit or a
	// rank becomes silent. A gang that hangs or is unknown needs a look in an interval, since only beats can
	// change that.
	Next time.Duration
}

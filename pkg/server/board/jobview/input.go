package jobview

import (
	"math/big"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// Input is what is known of a job, and what is asked.
type Input struct {
	// Record of the job: what the history knows, merged with the live version where there is one.
	Record history.Record
	// Live is the job as its cluster has it; nil where it is deleted or cannot be read.
	Live *v1alpha1.TrainingJob
	// Samples that its trainer reported, by attempt and step. Those of the Record are not looked at: the store
	// leaves them out.
	Samples []history.Sample
	// Explanation of the live job; nil where there is none.
	Explanation *explain.Explanation
	// Timeline of the job, oldest first.
	Timeline []timeline.Entry
	// Prices of one GPU of a kind for an hour, in the Currency. Empty: none are configured.
	Prices   map[string]*big.Rat
	Currency string
	// Notes are sentences that the reader must know, such as that the history cannot be read.
	Notes []string
	// Now is the time of the question.
	Now time.Time
	// By is what the curves are drawn by; empty: by step.
	By    Axis
	Links Links
}

// Axis is what curves are drawn by.
type Axis string

// Axes of curves.
const (
	ByStep Axis = "step"
	ByTime Axis = "time"
)

// Links of the page, as paths. An empty one is left out.
type Links struct {
	// Page is that of the job itself; the parameter x is added to it.
	Page string
	// Logs is the page of the job's logs.
	Logs string
	// YAML of the job.
	YAML string
	// Queue is the page of the job's queue.
	Queue string
	// Jobs is the list of the job's namespace.
	Jobs string
}

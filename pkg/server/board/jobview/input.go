package jobview

import (
	"math/big"
	"net/url"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// Input of the page of a job.
type Input struct {
	// Record of the job in the history, merged with the live job if there is one.
	Record history.Record
	// Live is the job in its cluster; nil if it is deleted or cannot be read.
	Live *v1alpha1.TrainingJob
	// Samples of its trainer, by attempt and step. Those of the Record are ignored: the store leaves them
	// out.
	Samples []history.Sample
	// Explanation of the live job, or nil.
	Explanation *explain.Explanation
	// Timeline of the job, oldest first.
	Timeline []timeline.Entry
	// Prices of a GPU-hour by kind, in the Currency. Empty: not configured.
	Prices   map[string]*big.Rat
	Currency string
	// Notes for the reader, for example that the history cannot be read.
	Notes []string
	// Now is the current time.
	Now time.Time
	// By is the x-axis of the curves; empty: steps.
	By    Axis
	Links Links
}

// Axis is the x-axis of curves.
type Axis string

// Axes of curves.
const (
	ByStep Axis = "step"
	ByTime Axis = "time"
)

// Links of the page, as paths. Empty ones are left out.
type Links struct {
	// Page of the job; the parameter x is added to it.
	Page string
	// Logs of the job.
	Logs string
	// YAML of the job.
	YAML string
	// Queue of the job.
	Queue string
	// Jobs of the job's namespace.
	Jobs string
	// Job is the page of a job of the namespace, without its name at the end.
	Job string
}

// job returns the page of a job of the namespace; empty if it is unknown.
func (l *Links) job(name string) string {
	if l.Job == "" {
		return ""
	}
	return l.Job + url.PathEscape(name)
}

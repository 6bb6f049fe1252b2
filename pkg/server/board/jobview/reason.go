package jobview

import (
	"cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/plaintext"
)

// Reason is what the job does, or why it does not run.
type Reason struct {
	explain.Explanation
	// Past reports that it is the last known one, of a job that cannot be read any more.
	Past bool
	// Log is the end of the log of the failed rank.
	Log string
}

func reasonOf(in *Input) Reason {
	if in.Explanation == nil {
		j := &in.Record.Job
		return Reason{Past: true, Explanation: explain.Explanation{
			Phase: j.Phase, Summary: cmp.Or(j.Message, j.Reason, "reason "+unknown),
			Attempt: j.Attempt, Restarts: j.Restarts, Preemptions: j.Preemptions,
		}}
	}
	r := Reason{Explanation: *in.Explanation}
	if r.LastFailure != nil {
		r.Log = plaintext.Text(r.LastFailure.Message)
	}
	return r
}

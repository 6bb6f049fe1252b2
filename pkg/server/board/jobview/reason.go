package jobview

import (
	"cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/plaintext"
)

// Reason is what the job is doing, and if it does not run, why not.
type Reason struct {
	explain.Explanation
	// Past reports whether it is what was last known, of a job that cannot be asked any more.
	Past bool
	// Log is the end of what the rank that failed has written.
	Log string
}

func reasonOf(in *Input) Reason {
	if in.Explanation == nil {
		j := &in.Record.Job
		return Reason{Past: true, Explanation: explain.Explanation{
			Phase: j.Phase, Summary: cmp.Or(j.Message, j.Reason, "why is "+unknown),
			Attempt: j.Attempt, Restarts: j.Restarts, Preemptions: j.Preemptions,
		}}
	}
	r := Reason{Explanation: *in.Explanation}
	if r.LastFailure != nil {
		r.Log = plaintext.Text(r.LastFailure.Message)
	}
	return r
}

package jobview

import (
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// Rehearsal is what a rehearsal has shown. On the page of another job it is the newest one of that job,
// without its checks.
type Rehearsal struct {
	Summary string
	// Ended is nil while it runs, and on its own page.
	Ended *time.Time
	// Other is the job that it is a copy of; on the page of another job, the rehearsal. Empty: unknown.
	Other, Href string
	// Properties of the attempts; none on the page of another job.
	Properties []Property
	Checks     []Check
}

// Check is one result.
type Check struct {
	Name, Outcome string
	// Class of the outcome.
	Class   string
	Attempt int32 // 0: several
	Message string
}

// rehearsalOf the live job; nil if it is no rehearsal and has none.
func rehearsalOf(in *Input) *Rehearsal {
	if in.Explanation == nil {
		return nil
	}
	if last := in.Explanation.Rehearsed; last != nil {
		return &Rehearsal{
			Summary: last.Summary, Ended: last.Ended, Other: last.Name, Href: in.Links.job(last.Name),
		}
	}
	r := in.Explanation.Rehearsal
	if r == nil {
		return nil
	}
	out := &Rehearsal{Summary: r.Summary, Other: r.Of, Properties: rehearsalProperties(r)}
	if r.Of != "" {
		out.Href = in.Links.job(r.Of)
	}
	for _, c := range r.Checks {
		out.Checks = append(out.Checks, Check{
			Name: string(c.Name), Outcome: string(c.Outcome), Attempt: c.Attempt, Message: c.Message,
			Class: "outcome-" + strings.ToLower(string(c.Outcome)),
		})
	}
	return out
}

func rehearsalProperties(r *explain.Rehearsal) []Property {
	all := []Property{
		{Name: "Ways played", Text: number(int64(r.Played)) + " of " + number(int64(len(r.Ways)))},
		{Name: "Attempts", Text: number(int64(r.Attempts))},
	}
	if r.Revision != "" {
		all = append(all, Property{Name: "Spec revision", Text: r.Revision})
	}
	if r.SaveSeconds > 0 {
		all = append(all, Property{
			Name: "Longest save", Text: seconds(r.SaveSeconds) + " of " + seconds(int64(r.GraceSeconds)) + " grace",
		})
	}
	if r.StartSeconds > 0 {
		all = append(all, Property{Name: "Longest start", Text: seconds(r.StartSeconds)})
	}
	return all
}

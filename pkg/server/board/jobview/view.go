package jobview

import (
	_ "embed"
	"fmt"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
)

// Container is the id of the element that holds the sections of the page.
const Container = "job"

// CSS of the page. It has no colours but the board's custom properties.
//
//go:embed jobview.css
var CSS string

// View is the page of a job without its Ranks: these change independently, and depend on the rights of the
// reader.
type View struct {
	Header      Header
	Reason      Reason
	DryRun      *DryRun    // nil: there is none
	Rehearsal   *Rehearsal // nil: there is none
	Attempts    Attempts
	Curves      Curves
	Checkpoints Checkpoints
	Preemptions Preemptions
	Cost        Cost
	Timeline    Timeline
}

// Of returns the view of a job. It does not change the input.
func Of(in Input) View {
	return View{
		Header: headerOf(&in), Reason: reasonOf(&in), DryRun: dryRunOf(&in), Rehearsal: rehearsalOf(&in),
		Attempts: attemptsOf(&in),
		Curves:   curvesOf(&in), Checkpoints: checkpointsOf(&in), Preemptions: preemptionsOf(&in),
		Cost: costOf(&in), Timeline: timelineOf(&in),
	}
}

// section of the page: its template and its id.
type section struct {
	template, id string
	data         any
}

// Fragments of the page, in order, all in the Container. Sections that do not apply to the job are left out.
func (v *View) Fragments() ([]fragment.Fragment, error) {
	sections := []section{
		{"header", "job-header", &v.Header}, {"reason", "job-reason", &v.Reason},
	}
	if v.DryRun != nil {
		sections = append(sections, section{"dryrun", "job-dryrun", v.DryRun})
	}
	if v.Rehearsal != nil {
		sections = append(sections, section{"rehearsal", "job-rehearsal", v.Rehearsal})
	}
	sections = append(sections, section{"attempts", "job-attempts", &v.Attempts},
		section{"curves", "job-curves", &v.Curves})
	for i := range v.Curves.Curves {
		sections = append(sections, section{"curve", v.Curves.Curves[i].ID, &v.Curves.Curves[i]})
	}
	sections = append(sections, section{"preemptions", "job-preemptions", &v.Preemptions},
		section{"cost", "job-cost", &v.Cost}, section{"checkpoints", "job-checkpoints", &v.Checkpoints},
		section{"timeline", "job-timeline", &v.Timeline})

	p := &fragment.Page{Templates: pages}
	for _, s := range sections {
		p.Add(s.template, Container, s.id, s.data)
	}
	if p.Err != nil {
		return nil, fmt.Errorf("rendering a job: %w", p.Err)
	}
	return p.All, nil
}

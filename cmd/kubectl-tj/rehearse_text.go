package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// printLines writes text in lines of a terminal's width.
func printLines(w io.Writer, text string) {
	fmt.Fprintln(w, strings.Join(wrapped(text, columns), "\n"))
}

// playedText is what a rehearsal does now.
func playedText(e explain.Explanation) string {
	if e.Blocker != nil {
		return joined(": ", string(e.Phase), e.Blocker.Reason, e.Summary)
	}
	if e.Phase == "" {
		return e.Summary
	}
	return joined(": ", string(e.Phase), e.Rehearsal.Summary)
}

// verdictText of a rehearsal that has ended, of a job.
func verdictText(of, job *v1alpha1.TrainingJob, e explain.Explanation, now time.Time) string {
	s, r := &sheet{}, e.Rehearsal
	ranks := count(int(r.Ranks), "rank")
	if all := spec.Ranks(of); all != r.Ranks {
		ranks = fmt.Sprintf("%d of %d ranks", r.Ranks, all)
	}
	s.say("Job", joined(", ", job.Namespace+"/"+job.Name, ranks))
	s.say("Attempts", attemptsText(r))
	sayChecks(s, r.Checks)
	s.say("Result", resultText(of, r))
	if r.Result != v1alpha1.RehearsalResultPassed {
		s.say("Status", e.Summary)
		sayFailure(s, e.LastFailure, now)
	}
	s.say("Next step", e.NextStep)
	return s.String()
}

// attemptsText has the number of attempts and the times that a user can compare with the spec.
func attemptsText(r *explain.Rehearsal) string {
	text := fmt.Sprint(r.Attempts)
	if r.Seconds > 0 {
		text += " in " + lasting(r.Seconds)
	}
	if r.SaveSeconds > 0 {
		text += fmt.Sprintf("; saves in %s of %s grace", lasting(r.SaveSeconds), lasting(int64(r.GraceSeconds)))
	}
	if r.StartSeconds > 0 {
		text += "; starts in " + lasting(r.StartSeconds)
	}
	return text
}

// resultText has what a passed rehearsal means for the job: the spec that it holds for, and what can be lost.
func resultText(of *v1alpha1.TrainingJob, r *explain.Rehearsal) string {
	if r.Result != v1alpha1.RehearsalResultPassed {
		return r.Summary
	}
	interval := spec.DefaultCheckpointInterval
	if c := of.Spec.Checkpoint; c != nil {
		interval = spec.OrDefault(c.Interval, interval)
	}
	return fmt.Sprintf("%s. It holds for %s with spec revision %s. A lost node costs up to one interval (%s) "+
		"and a start.", r.Summary, of.Name, r.Revision, lasting(int64(interval)))
}

// sayChecks writes a table with the message of each check in lines of its own column.
func sayChecks(s *sheet, checks []explain.RehearsalCheck) {
	if len(checks) == 0 {
		return
	}
	name, outcome := len("CHECK"), len("RESULT")
	for _, c := range checks {
		name, outcome = max(name, len(c.Name)), max(outcome, len(c.Outcome))
	}
	left := name + gap + outcome + gap
	rows := [][]string{{"CHECK", "RESULT", "MESSAGE"}}
	for _, c := range checks {
		row := []string{string(c.Name), string(c.Outcome), ""}
		for i, line := range append(wrapped(c.Message, columns-labelColumns-left), "") {
			if i > 0 && line == "" {
				break
			}
			row[2] = line
			rows, row = append(rows, row), []string{"", "", ""}
		}
	}
	s.lines("Checks", table(rows))
}

// sayRehearsal writes what a rehearsal has shown so far.
func sayRehearsal(s *sheet, r *explain.Rehearsal) {
	if r == nil {
		return
	}
	s.say("Rehearsal", r.Summary)
	if r.Of != "" {
		s.say("", joined(", spec revision ", "of "+r.Of, r.Revision))
	}
	if r.Attempts > 0 {
		s.say("", "attempts: "+attemptsText(r))
	}
	sayChecks(s, r.Checks)
}

// sayRehearsed writes the newest rehearsal of a job.
func sayRehearsed(s *sheet, r *explain.Rehearsed, now time.Time) {
	if r == nil {
		return
	}
	ended := ""
	if r.Ended != nil {
		ended = ago(*r.Ended, now) + " ago"
	}
	s.say("Rehearsed", joined(": ", ended, r.Summary)+"; see "+r.Name)
}

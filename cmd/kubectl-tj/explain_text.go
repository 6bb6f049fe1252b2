package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// explanationText has the job first and the next step last.
func explanationText(job string, e explain.Explanation, now time.Time) string {
	s := &sheet{}
	s.say("Job", job)
	s.say("Phase", phaseText(e))
	s.say("Scheduler", schedulerText(e))
	s.say("Attempt", attemptText(e))
	if b := e.Blocker; b != nil {
		s.say("Reason", joined(": ", b.Reason, b.Meaning))
		if e.Summary != b.Meaning {
			s.say("", e.Summary)
		}
		s.say("Object", b.Object)
		if b.Observed != nil {
			s.say("As of", when(*b.Observed, now))
		}
	} else {
		s.say("Status", e.Summary)
	}
	s.say("Progress", progressText(e.Progress))
	sayLiveness(s, e.Liveness, now)
	sayRehearsal(s, e.Rehearsal)
	sayRehearsed(s, e.Rehearsed, now)
	sayArithmetic(s, e.Arithmetic)
	sayPreemption(s, e.Preemption)
	sayReservation(s, e.Reservation, now)
	sayBackfill(s, e.Backfill, now)
	sayForecast(s, e.Forecast, now)
	sayDrain(s, e.Drain, now)
	if e.Backoff != nil {
		s.say("Backoff", "the next attempt is due "+when(*e.Backoff, now))
	}
	sayFailure(s, e.LastFailure, now)
	for _, sentence := range e.Unknown {
		if sentence != e.Summary {
			s.say("Unknown", sentence)
		}
	}
	s.say("Next step", e.NextStep)
	return s.String()
}

func phaseText(e explain.Explanation) string {
	switch {
	case e.Phase == "":
		return "none yet"
	case e.Since == nil:
		return string(e.Phase) + " since an unknown time"
	}
	return fmt.Sprintf("%s for %s, since %s", e.Phase, lasting(e.ForSeconds), instant(*e.Since))
}

func schedulerText(e explain.Explanation) string {
	if e.Queue != "" {
		return joined(", ", string(e.Scheduler), "queue "+e.Queue)
	}
	return string(e.Scheduler)
}

func attemptText(e explain.Explanation) string {
	if e.Attempt == 0 {
		return ""
	}
	var after []string
	if e.Restarts > 0 {
		after = append(after, count(int(e.Restarts), "restart"))
	}
	if e.Preemptions > 0 {
		after = append(after, count(int(e.Preemptions), "preemption"))
	}
	return joined(", after ", fmt.Sprint(e.Attempt), strings.Join(after, " and "))
}

// progressText is empty without progress.
func progressText(p *explain.Progress) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("step %d", p.Step)
	if p.TotalSteps > 0 {
		text += fmt.Sprintf(" of %d", p.TotalSteps)
	}
	if p.Percent != nil {
		text += fmt.Sprintf(" (%d%%)", *p.Percent)
	}
	if p.Source == v1alpha1.ProgressFromKubeflow {
		text += ", by the trainer's Kubeflow callback"
	}
	return text
}

func sayLiveness(s *sheet, l *explain.Liveness, now time.Time) {
	if l == nil {
		return
	}
	s.say("Liveness", joined(": ", string(l.State), l.Summary))
	if l.LastProgress != nil && l.State == v1alpha1.LivenessHung {
		s.sayf("", "last progress %s; the limit is %s", when(*l.LastProgress, now), lasting(l.LimitSeconds))
	}
	if len(l.Suspects) > 0 {
		rows := [][]string{{"SUSPECT", "NODE", "STEP", "EVIDENCE"}}
		for _, x := range l.Suspects {
			step := ""
			if x.Step != nil {
				step = fmt.Sprint(*x.Step)
			}
			rows = append(rows, []string{x.Pod, orUnknown(x.Node), orUnknown(step), string(x.Evidence)})
		}
		s.lines("", table(rows))
		s.say("", l.Suspects[0].Meaning)
	}
	if l.Restarts > 0 {
		s.sayf("", "%s for hangs of this job", count(int(l.Restarts), "restart"))
	}
}

func sayArithmetic(s *sheet, lines []explain.Line) {
	if len(lines) == 0 {
		return
	}
	rows := [][]string{{"RESOURCE", "NEED", "FREE", "SHORT"}}
	for _, l := range lines {
		rows = append(rows, []string{l.Resource, l.Need, orUnknown(l.Free), orUnknown(l.Short)})
	}
	s.lines("Numbers", table(rows))
}

func sayPreemption(s *sheet, p *explain.Preemption) {
	if p == nil {
		return
	}
	label, acts := "Dry run", "dry run only"
	switch {
	case p.Phase != "":
		label, acts = "Preemption", fmt.Sprintf("round %d", p.Round)
		s.say(label, joined(": ", string(p.Phase), p.Meaning))
	default:
		s.say(label, joined(": ", string(p.Outcome), p.Meaning))
	}
	if len(p.Victims) == 0 {
		return
	}
	rows := [][]string{{"VICTIM", "GPUS", "SET BACK", "GPU TIME", "MODE"}}
	for _, v := range p.Victims {
		name := v.Name
		if name == "" {
			name = "in another namespace"
		}
		rows = append(rows, []string{
			name, fmt.Sprint(v.GPUs), lasting(v.LossSeconds), lasting(v.LossGPUSeconds), string(v.Mode),
		})
	}
	s.lines("", table(rows))
	var explained []v1alpha1.PreemptionMode
	for _, v := range p.Victims {
		if v.How != "" && !slices.Contains(explained, v.Mode) {
			explained = append(explained, v.Mode)
			s.sayf("", "%s: %s", v.Mode, v.How)
		}
	}
	if p.LossGPUSeconds != nil {
		s.sayf("", "%s in all, and %s of GPU time; %s", count(int(p.VictimCount), "victim"),
			lasting(*p.LossGPUSeconds), acts)
	}
}

func sayDrain(s *sheet, d *explain.Drain, now time.Time) {
	if d == nil {
		return
	}
	s.say("Drain", joined(": ", joined(", ", string(d.Cause), d.Reason), d.Message))
	switch {
	case d.Saving && d.Deadline != nil:
		s.say("", "the operator has requested a checkpoint; its deadline is "+when(*d.Deadline, now))
	case d.Saving:
		s.say("", "the operator has requested a checkpoint")
	}
}

func sayFailure(s *sheet, f *explain.Failure, now time.Time) {
	if f == nil {
		return
	}
	exit := "exit code unknown"
	if f.ExitCode != nil {
		exit = fmt.Sprintf("exit code %d", *f.ExitCode)
	}
	node := ""
	if f.Node != "" {
		node = "on node " + f.Node
	}
	s.say("Failure", joined(", ", f.PodName, node, exit, f.Reason, fmt.Sprintf("attempt %d", f.Attempt)))
	if f.Time != nil {
		s.say("", when(*f.Time, now))
	}
	s.say("", f.Message)
}

// when returns a time and its distance from now.
func when(t, now time.Time) string {
	if t.After(now) {
		return fmt.Sprintf("in %s, at %s", ago(now, t), instant(t))
	}
	return fmt.Sprintf("%s ago, at %s", ago(t, now), instant(t))
}

// joined joins the parts that are not empty.
func joined(by string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), by)
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

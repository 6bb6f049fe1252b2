package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// whenOptions are the flags of when.
type whenOptions struct {
	cluster
	output
	streams
	now clock.PassiveClock
}

const whenHelp = `Show when a TrainingJob probably starts and ends.

The operator estimates both with forecast.mode On, and writes them to the job's status. An unknown time has
its reason and the next step.

Exit codes: 0 shown, 1 the job does not exist, or the cluster refused, 2 wrong usage.`

func whenCommand(s streams, now clock.PassiveClock) *cobra.Command {
	o := &whenOptions{streams: s, now: now}
	cmd := &cobra.Command{
		Use:     "when JOB",
		Short:   "Show when a TrainingJob starts and ends",
		Long:    whenHelp,
		Example: "  kubectl tj when llama -n team-a\n  kubectl tj when llama -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := oneJob(cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), job)
		},
	}
	flags := cmd.Flags()
	o.cluster = newCluster(flags)
	o.addFlag(flags)
	cmd.ValidArgsFunction = completeJob(o.cluster, s)
	return cmd
}

func (o *whenOptions) run(ctx context.Context, argument jobArgument) error {
	if err := o.validate(); err != nil {
		return err
	}
	c, err := o.connectFor(argument, o.streams)
	if err != nil {
		return err
	}
	job, err := c.job(ctx, argument.name)
	if err != nil {
		return err
	}
	now := o.now.Now().UTC()
	e := explain.Of(job, now)
	if e.Forecast == nil { // JSON has an empty object
		e.Forecast = &explain.Forecast{}
	}
	return o.print(o.out, e.Forecast, whenText(job.Namespace+"/"+job.Name, e, now))
}

// whenText has the job first and the next step last.
func whenText(job string, e explain.Explanation, now time.Time) string {
	s := &sheet{}
	s.say("Job", job)
	s.say("Phase", phaseText(e))
	sayForecast(s, e.Forecast, now)
	switch f := e.Forecast; {
	case f.Start == nil && f.End == nil && e.Phase.Finished():
		s.say("Ends", "it has ended")
	case f.Start == nil && f.End == nil:
		s.say("Unknown", "the status has no forecast: forecast.mode of the operator is Off, the job neither "+
			"waits nor runs, or the first forecast is not made yet")
		s.say("Next step", "wait for a minute, or ask the admin for forecast.mode On")
	default:
		s.say("Next step", f.NextStep)
	}
	return s.String()
}

// sayForecast prints nothing without a forecast.
func sayForecast(s *sheet, f *explain.Forecast, now time.Time) {
	if f == nil {
		return
	}
	observed := time.Time{}
	if start := f.Start; start != nil {
		observed = start.Observed
		s.say("Starts", startText(start, now))
		label := "Behind"
		for _, b := range start.Behind {
			text := b.Summary
			if b.Time != nil {
				text += ", " + when(*b.Time, now)
			}
			s.say(label, text)
			label = ""
		}
	}
	if j := f.Judged; j != nil {
		s.sayf("Forecast", "%s: between %s and %s", j.Summary, instant(j.Earliest), instant(j.Latest))
	}
	if end := f.End; end != nil {
		if observed.IsZero() {
			observed = end.Observed
		}
		switch {
		case end.Time == nil:
			s.say("Ends", joined(": ", fmt.Sprintf("unknown (%s)", end.Unknown), end.Meaning))
		default:
			s.say("Ends", joined(", ", "probably "+when(*end.Time, now), end.By))
		}
	}
	if !observed.IsZero() {
		s.say("As of", when(observed, now))
	}
}

func startText(start *explain.Start, now time.Time) string {
	text := joined(": ", fmt.Sprintf("unknown (%s)", start.Unknown), start.Meaning)
	if start.Time != nil {
		text = "probably " + when(*start.Time, now)
	}
	switch {
	case start.Earliest != nil && start.Latest != nil:
		text += fmt.Sprintf("; between %s and %s (%d%% of the last %d such forecasts held)",
			instant(*start.Earliest), instant(*start.Latest), start.HitPercent, start.HitOf)
	case start.Earliest != nil && start.Earliest.After(now):
		text += "; hardly before " + instant(*start.Earliest)
	}
	if start.Position > 0 {
		text += fmt.Sprintf("; position %d", start.Position)
	}
	return text
}

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// timelineOptions are the flags of timeline.
type timelineOptions struct {
	cluster
	output
	streams
	now clock.PassiveClock
}

const timelineHelp = `Show the events of a TrainingJob, the oldest first.

They come from the job's status: the last 20 changes of phase, the latest checkpoint, the one from which the
attempt resumed, the ways of a rehearsal, reservations, and the last failure. The server's history, if
enabled, has all events.

Exit codes: 0 shown, 1 the job does not exist, or the cluster refused, 2 wrong usage.`

func timelineCommand(s streams, now clock.PassiveClock) *cobra.Command {
	o := &timelineOptions{streams: s, now: now}
	cmd := &cobra.Command{
		Use:     "timeline JOB",
		Short:   "Show the events of a TrainingJob",
		Long:    timelineHelp,
		Example: "  kubectl tj timeline bert -n team-a\n  kubectl tj timeline bert -o yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := oneJob(cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), job)
		},
	}
	o.cluster = newCluster(cmd.Flags())
	o.addFlag(cmd.Flags())
	cmd.ValidArgsFunction = completeJob(o.cluster, s)
	return cmd
}

func (o *timelineOptions) run(ctx context.Context, argument jobArgument) error {
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
	history := timeline.Timeline{Source: timeline.FromStatus, Items: timeline.Of(job)}
	return o.print(o.out, history, timelineText(history, o.now.Now()))
}

// timelineText has a row for each entry: its time, its age and its text.
func timelineText(history timeline.Timeline, now time.Time) string {
	when := make([][2]string, len(history.Items))
	width := len("AGE")
	for i, e := range history.Items {
		when[i] = [2]string{"unknown", ""}
		if e.Time != nil {
			when[i] = [2]string{instant(*e.Time), ago(*e.Time, now)}
		}
		width = max(width, len(when[i][1]))
	}
	left := len(time.RFC3339) - len("07:00") + gap + width + gap
	rows := [][]string{{"TIME", "AGE", "WHAT"}}
	for i, e := range history.Items {
		for j, line := range wrapped(happened(e), columns-left) {
			if j > 0 {
				when[i] = [2]string{}
			}
			rows = append(rows, []string{when[i][0], when[i][1], line})
		}
	}
	return strings.Join(table(rows), "\n") + "\n"
}

// happened describes an entry of a status.
func happened(e timeline.Entry) string {
	text := ""
	switch e.Kind {
	case timeline.Created:
		text = "created"
	case timeline.PhaseEntered:
		return phaseEntered(e)
	case timeline.CheckpointSaved:
		text = "checkpoint" + step(" of step ", e)
	case timeline.Resumed:
		text = fmt.Sprintf("attempt %d resumes%s", e.Attempt, step(" from step ", e))
	case timeline.WayPlayed:
		text = fmt.Sprintf("%s ends attempt %d%s", e.Reason, e.Attempt, step(" at step ", e))
	case timeline.Reserved:
		return joined(": ", "the operator keeps capacity for the gang", e.Message)
	case timeline.Lapsed:
		text = "the reservation lapsed"
		return joined(": ", text, e.Reason)
	case timeline.HeldBack:
		return "the gang fits, and waits since capacity is kept for another gang"
	case timeline.RankFailed:
		text = fmt.Sprintf("a rank failed in attempt %d", e.Attempt)
		return joined(": ", text, joined(", ", e.Message, e.Reason))
	case timeline.Deleted:
		text = "deleted"
	case timeline.Gap:
		return e.Message
	default:
		text = string(e.Kind)
	}
	return joined(": ", text, e.Message)
}

func phaseEntered(e timeline.Entry) string {
	text := string(e.Phase)
	if e.Seconds != nil {
		text += " for " + lasting(*e.Seconds)
	}
	if e.Reason == string(e.Phase) {
		return text
	}
	return joined(": ", text, e.Reason)
}

// step returns the step and the URI of a checkpoint.
func step(before string, e timeline.Entry) string {
	text := ""
	if e.Step != nil {
		text = fmt.Sprint(before, *e.Step)
	}
	return joined(": ", text, e.URI)
}

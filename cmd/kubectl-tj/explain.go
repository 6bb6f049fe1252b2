package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	cluster
	output
	streams
	watch bool
	now   clock.PassiveClock
}

const explainHelp = `Explain what a TrainingJob does and, if it does not run, why not.

It prints the reason with its numbers (what the gang needs, what is free, what is short), the victims of a
planned preemption with their loss, and the next step. All of it comes from the job's status.

With --watch it prints each change of the explanation, until the job ends or is deleted.

Exit codes: 0 explained, 1 the job does not exist, or the cluster refused, 2 wrong usage.`

func explainCommand(s streams, now clock.PassiveClock) *cobra.Command {
	o := &explainOptions{streams: s, now: now}
	cmd := &cobra.Command{
		Use:   "explain JOB",
		Short: "Explain why a TrainingJob waits, or what it does",
		Long:  explainHelp,
		Example: "  kubectl tj explain bert -n team-a\n" +
			"  kubectl tj explain bert --watch\n" +
			"  kubectl tj explain bert -o json",
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
	flags.BoolVarP(&o.watch, "watch", "w", false, "print each change of the explanation")
	cmd.ValidArgsFunction = completeJob(o.cluster, s)
	return cmd
}

func (o *explainOptions) run(ctx context.Context, argument jobArgument) error {
	if err := o.validate(); err != nil {
		return err
	}
	c, err := o.connectFor(argument, o.streams)
	if err != nil {
		return err
	}
	if o.watch {
		return o.follow(ctx, c, argument.name)
	}
	job, err := c.job(ctx, argument.name)
	if err != nil {
		return err
	}
	return o.show(job, o.explanation(ctx, c, job))
}

// explanation of a job, with its newest rehearsal where the caller may list jobs.
func (o *explainOptions) explanation(
	ctx context.Context, c connected, job *v1alpha1.TrainingJob,
) explain.Explanation {
	e := explain.Of(job, o.now.Now().UTC())
	if job.Spec.Rehearsal != nil || job.Spec.Checkpoint == nil {
		return e // it is one, or cannot be rehearsed
	}
	rehearsals, err := c.rehearsals(ctx, job.Name)
	if err != nil {
		e.Unknown = append(e.Unknown, explain.UnknownRehearsals)
	}
	e.AddRehearsals(job, rehearsals)
	return e
}

func (o *explainOptions) show(job *v1alpha1.TrainingJob, e explain.Explanation) error {
	return o.print(o.out, e, explanationText(job.Namespace+"/"+job.Name, e, o.now.Now().UTC()))
}

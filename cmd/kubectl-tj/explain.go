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

const explainHelp = `Explain what a TrainingJob does, and if it does not run, why not.

It prints the one reason with its arithmetic (what the gang needs, what is free, what is short), whose end
would make room and what that would cost, where the operator looks for that, and the next step. It says what
the operator has written into the job's status, and decides nothing anew.

With --watch it prints again whenever it would say something else, until the job has ended or is gone.

Exit codes: 0 explained, whatever the job does, 1 there is no such job, or the cluster refused, 2 wrong
usage.`

func explainCommand(s streams, now clock.PassiveClock) *cobra.Command {
	o := &explainOptions{streams: s, now: now}
	cmd := &cobra.Command{
		Use:   "explain JOB",
		Short: "Explain why a TrainingJob waits, or what else it does",
		Long:  explainHelp,
		Example: "  kubectl tj explain bert -n team-a\n" +
			"  kubectl tj explain bert --watch\n" +
			"  kubectl tj explain bert -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := oneJob(cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), name)
		},
	}
	flags := cmd.Flags()
	o.cluster = newCluster(flags)
	o.addFlag(flags)
	flags.BoolVarP(&o.watch, "watch", "w", false, "print again whenever it would say something else")
	cmd.ValidArgsFunction = completeJob(o.cluster, s)
	return cmd
}

func (o *explainOptions) run(ctx context.Context, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	c, err := o.connect(o.streams)
	if err != nil {
		return err
	}
	if o.watch {
		return o.follow(ctx, c, name)
	}
	job, err := c.job(ctx, name)
	if err != nil {
		return err
	}
	return o.show(job)
}

func (o *explainOptions) show(job *v1alpha1.TrainingJob) error {
	now := o.now.Now().UTC()
	e := explain.Of(job, now)
	return o.print(o.out, e, explanationText(job.Namespace+"/"+job.Name, e, now))
}

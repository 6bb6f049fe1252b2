package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// queuesOptions are the flags of queues.
type queuesOptions struct {
	cluster
	output
	streams
	allNamespaces bool
	now           clock.PassiveClock
}

const queuesHelp = `Show queues and quotas: what each has, what is used, and which jobs wait.

Without a name it prints a table: queues of Volcano, ClusterQueues and LocalQueues of Kueue, ElasticQuotas of
scheduler-plugins, and ResourceQuotas, in the current namespace or with -A in all.
With a name, or TYPE/NAME, it prints that queue with its running jobs and its waiting jobs in their order.

QUOTA is the upper limit: "8 to 16" is a quota of 8, and at most 16 with capacity that others do not use; "8+"
has no limit. "12+ GPUs" are 12 and those of jobs whose GPUs are unknown. The command shows
what you may list; notes on stderr name the rest.

Exit codes: 0 shown, 1 the queue does not exist, or the cluster refused, 2 wrong usage.`

func queuesCommand(s streams, now clock.PassiveClock) *cobra.Command {
	o := &queuesOptions{streams: s, now: now}
	cmd := &cobra.Command{
		Use:     "queues [NAME | TYPE/NAME]",
		Aliases: []string{"queue"},
		Short:   "Show queues and quotas with their running and waiting jobs",
		Long:    queuesHelp,
		Example: "  kubectl tj queues\n" +
			"  kubectl tj queues -A\n" +
			"  kubectl tj queues research\n" +
			"  kubectl tj queues localqueue/main -n team-a -o yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("name one queue at most: kubectl tj queues [NAME | TYPE/NAME]")
			}
			return o.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	o.cluster = newCluster(flags)
	o.addFlag(flags)
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "include the objects of all namespaces")
	cmd.ValidArgsFunction = o.complete
	return cmd
}

func (o *queuesOptions) run(ctx context.Context, names []string) error {
	if err := o.validate(); err != nil {
		return err
	}
	c, err := o.connect(o.streams)
	if err != nil {
		return err
	}
	found, err := readQueues(ctx, c, o.allNamespaces)
	if err != nil {
		return err
	}
	list := queues.List{Items: found.queues, Unreadable: found.unreadable()}
	if len(names) == 0 {
		if err := o.print(o.out, list, queuesText(found)); err != nil {
			return err
		}
	} else {
		list.Items = named(found.queues, names[0])
		if len(list.Items) > 0 {
			found.queues = list.Items
			err = o.print(o.out, list, queueTexts(found, o.now.Now()))
		} else {
			err = missing(names[0], found.queues)
		}
	}
	if o.text() || err != nil {
		found.printNotes(o.err)
	}
	return err
}

// missing returns an error that lists the queues.
func missing(name string, all []queues.Queue) error {
	if len(all) == 0 {
		return codedError{exitError, fmt.Errorf("no queue or quota %q: you may list none", name)}
	}
	text := ""
	for i := range all {
		text += "\n  " + reference(&all[i])
	}
	return codedError{exitError, fmt.Errorf("no queue or quota %q; you may list these:%s", name, text)}
}

// complete completes the names of queues.
func (o *queuesOptions) complete(
	cmd *cobra.Command, args []string, toComplete string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := o.connect(o.streams)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	found, err := readQueues(cmd.Context(), c, o.allNamespaces)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return completions(found.queues, toComplete), cobra.ShellCompDirectiveNoFileComp
}

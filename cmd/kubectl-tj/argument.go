package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// jobTypes are kubectl's names of the type TrainingJob, in TYPE/NAME.
var jobTypes = []string{
	"tj", sharedType, "trainingjob", "trainingjobs", "trainingjob.mlplatform.example.com",
	"trainingjobs.mlplatform.example.com",
}

// sharedType is a short name of the type TrainingJob and the singular name of Kubeflow's TrainJob. Where the
// cluster serves both, it is Kubeflow's, as for kubectl.
const sharedType = "trainjob"

// jobArgument is the argument NAME or TYPE/NAME of a command.
type jobArgument struct {
	// kind is in lower case; empty for NAME.
	kind, name string
}

// oneJob returns the one argument, which names a job.
func oneJob(cmd *cobra.Command, args []string) (jobArgument, error) {
	if len(args) != 1 {
		return jobArgument{}, fmt.Errorf("name one job: %s JOB", cmd.CommandPath())
	}
	kind, name, typed := strings.Cut(args[0], "/")
	kind = strings.ToLower(kind)
	switch {
	case !typed:
		kind, name = "", args[0]
	case !slices.Contains(jobTypes, kind):
		return jobArgument{}, fmt.Errorf("%q is not a TrainingJob: %s JOB takes NAME or tj/NAME", args[0],
			cmd.CommandPath())
	}
	if name == "" {
		return jobArgument{}, fmt.Errorf("name one job: %s JOB", cmd.CommandPath())
	}
	return jobArgument{kind, name}, nil
}

// connectFor connects to the cluster. It fails if the argument's type is not a TrainingJob there.
func (c cluster) connectFor(job jobArgument, s streams) (connected, error) {
	to, err := c.connect(s)
	if err != nil || job.kind != sharedType {
		return to, err
	}
	switch served, err := to.servesTrainJobs(); {
	case err != nil:
		return connected{}, failed(err, "get", to.namespace)
	case served:
		return connected{}, fmt.Errorf("%s/%s is a TrainJob of Kubeflow, which this cluster serves: for a "+
			"TrainingJob use tj/%[2]s", job.kind, job.name)
	}
	return to, nil
}

// servesTrainJobs reports whether the cluster has Kubeflow's kind TrainJob.
func (c connected) servesTrainJobs() (bool, error) {
	_, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: "trainer.kubeflow.org", Kind: "TrainJob"})
	if notServed(err) {
		return false, nil
	}
	return err == nil, err
}

// completeJob completes the names of the namespace's jobs.
func completeJob(c cluster, s streams) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind, prefix, typed := strings.Cut(toComplete, "/")
		if !typed {
			kind, prefix = "", kind
		}
		to, err := c.connectFor(jobArgument{strings.ToLower(kind), prefix}, s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names, err := to.names(cmd.Context(), prefix)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for i := range names {
			if typed {
				names[i] = kind + "/" + names[i]
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

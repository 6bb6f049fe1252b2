package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// jobTypes are kubectl's names of the type TrainingJob, in TYPE/NAME.
var jobTypes = []string{
	"tj", "trainjob", "trainingjob", "trainingjobs", "trainingjob.mlplatform.example.com",
	"trainingjobs.mlplatform.example.com",
}

// oneJob returns the job's name from the one argument, NAME or TYPE/NAME.
func oneJob(cmd *cobra.Command, args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("name one job: %s JOB", cmd.CommandPath())
	}
	kind, name, typed := strings.Cut(args[0], "/")
	switch {
	case !typed:
		name = kind
	case !slices.Contains(jobTypes, strings.ToLower(kind)):
		return "", fmt.Errorf("%q is not a TrainingJob: %s JOB takes NAME or tj/NAME", args[0], cmd.CommandPath())
	}
	if name == "" {
		return "", fmt.Errorf("name one job: %s JOB", cmd.CommandPath())
	}
	return name, nil
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
		} else {
			kind += "/"
		}
		to, err := c.connect(s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names, err := to.names(cmd.Context(), prefix)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for i := range names {
			names[i] = kind + names[i]
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

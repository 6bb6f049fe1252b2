package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

func newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the stacks and the workloads that ship", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.OutOrStdout()) },
	}
}

func list(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STACK\tWHAT IT IS")
	for _, s := range stack.All(stack.Stock) {
		d := s.Describe()
		fmt.Fprintf(t, "%s\t%s\n", d.Name, d.Title)
	}
	fmt.Fprintln(t, "\t")
	fmt.Fprintln(t, "WORKLOAD\tWHAT IT ASKS")
	for _, w := range workload.Builtins() {
		fmt.Fprintf(t, "%s\t%s\n", w.Name, w.Question)
	}
	return t.Flush()
}

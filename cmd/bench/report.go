package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/report"
	"mlplatform.example.com/trainingjob-operator/bench/result"
)

func newReport() *cobra.Command {
	var out string
	var headline bool
	cmd := &cobra.Command{
		Use: "report RESULTS...", Short: "Write the report of one or several benchmarks again",
		Long: "RESULTS are folders that `bench run` has written, or their report.json.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if headline {
				return printHeadline(cmd.OutOrStdout(), args)
			}
			return writeReport(cmd.OutOrStdout(), out, args)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the report (default: the first of RESULTS)")
	cmd.Flags().BoolVar(&headline, "headline", false,
		"write no report, and print one table of it in Markdown: the workload burst against the floors")
	return cmd
}

func printHeadline(w io.Writer, from []string) error {
	results, err := merge(from)
	if err != nil {
		return err
	}
	table, err := report.Headline(results)
	if err != nil {
		return err
	}
	if table == "" {
		return errors.New("the workload burst has no runs that can be compared")
	}
	_, err = io.WriteString(w, table)
	return err
}

// merge what several benchmarks have measured.
func merge(from []string) (result.Results, error) {
	var all []result.Results
	for _, path := range from {
		r, err := load(path)
		if err != nil {
			return r, err
		}
		all = append(all, r)
	}
	return report.Merge(all...)
}

func writeReport(w io.Writer, out string, from []string) error {
	results, err := merge(from)
	if err != nil {
		return err
	}
	if out == "" {
		out = folderOf(from[0])
	}
	return finish(w, out, results)
}

// load results from a folder or a file.
func load(path string) (result.Results, error) {
	f, err := os.Open(filepath.Join(folderOf(path), report.ResultsFile))
	if err != nil {
		return result.Results{}, fmt.Errorf("opening results: %w", err)
	}
	defer f.Close()
	r, err := report.Read(f)
	if err != nil {
		return r, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return r, nil
}

func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// finish writes the report, and its summary to w.
func finish(w io.Writer, out string, results result.Results) error {
	if err := report.Write(out, results); err != nil {
		return err
	}
	if err := report.Summary(w, results); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe report is %s, with plots next to it.\n", filepath.Join(out, "report.md"))
	return nil
}

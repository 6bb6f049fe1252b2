package main

import (
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
	cmd := &cobra.Command{
		Use: "report RESULTS...", Short: "Write the report anew, of one benchmark or of several together",
		Long: "RESULTS are folders that `bench run` has written, or their report.json.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return writeReport(cmd.OutOrStdout(), out, args) },
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the report (default: the first of RESULTS)")
	return cmd
}

func writeReport(w io.Writer, out string, from []string) error {
	var all []result.Results
	for _, path := range from {
		r, err := load(path)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	results, err := report.Merge(all...)
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
	fmt.Fprintf(w, "\nThe report is %s, with plots beside it.\n", filepath.Join(out, "report.md"))
	return nil
}

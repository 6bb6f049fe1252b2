package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// ResultsFile is the name of the file of results in a report's folder.
const ResultsFile = "report.json"

// Write report.json, report.md and plots/ into a folder, which is made when it is missing. Files of an
// earlier report are replaced. report.json comes first, so that results are kept whatever fails after it.
func Write(dir string, r result.Results) error {
	if err := check(r); err != nil {
		return fmt.Errorf("checking results: %w", err)
	}
	plots := filepath.Join(dir, "plots")
	if err := os.MkdirAll(plots, 0o750); err != nil {
		return fmt.Errorf("making the folder for the report: %w", err)
	}
	if err := r.Save(filepath.Join(dir, ResultsFile)); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := Markdown(&text, r); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "report.md"), text.Bytes()); err != nil {
		return err
	}
	if err := removePlots(plots); err != nil {
		return err
	}
	palette := newPalette(r.Stacks)
	for _, p := range playedOf(r) {
		all, err := figures(p, palette)
		if err != nil {
			return err
		}
		for _, f := range all {
			if err := f.Save(plots); err != nil {
				return err
			}
		}
	}
	return nil
}

// removePlots of an earlier report, which may have been of other workloads.
func removePlots(dir string) error {
	for _, pattern := range []string{"*.png", "*.svg"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return fmt.Errorf("finding plots: %w", err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("removing a plot: %w", err)
			}
		}
	}
	return nil
}

func write(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

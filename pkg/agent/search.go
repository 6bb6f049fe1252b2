package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// search returns the latest complete checkpoint of all volumes that the options allow, as a report. If
// nothing is older than Selection.OlderThan, newer ones are allowed too.
func search(sc *scanner, o *resolveOptions) (checkpoint.Report, error) {
	report, err := searchSelection(sc, o, o.selection)
	if err == nil && report.Checkpoint == nil && o.selection.OlderThan != nil {
		selection := o.selection
		selection.OlderThan = nil
		return searchSelection(sc, o, selection)
	}
	return report, err
}

// searchSelection searches all volumes. A volume that cannot be read fails the search: the latest checkpoint
// might be on it.
func searchSelection(
	sc *scanner, o *resolveOptions, selection checkpoint.Selection,
) (checkpoint.Report, error) {
	report := checkpoint.Report{Attempt: o.attempt, Phase: checkpoint.PhaseResolved}
	var best *checkpoint.Found
	var skipped []skippedCheckpoint
	for _, volume := range o.volumes {
		choice, err := searchVolume(sc, volume, scanRequest{
			base: volume.base, dir: ".", jobUID: o.jobUID, sums: o.sums, selection: selection,
		})
		if err != nil {
			return report, fmt.Errorf("looking at %s: %w", volume.base, err)
		}
		choice = withoutUnordered(choice)
		for _, f := range choice.PassedOver {
			skipped = append(skipped, skippedOn(volume, f))
		}
		if f := choice.Found; f != nil && (best == nil || checkpoint.Newer(*f, *best)) {
			uri, err := volume.uriOf(f.Path)
			if err != nil {
				return report, err
			}
			best, report.Layout = f, f.Layout
			report.Checkpoint = &checkpoint.Save{
				State: checkpoint.SaveCommitted, URI: uri, Step: choice.Point.Step, Bytes: f.Bytes,
			}
		}
	}
	report.PassedOver = latestSkipped(skipped, best)
	return report, nil
}

// skippedCheckpoint is a checkpoint that was passed over on one volume.
type skippedCheckpoint struct {
	step   int64
	report checkpoint.Passed
}

func skippedOn(volume location, f checkpoint.Found) skippedCheckpoint {
	return skippedCheckpoint{f.Step, volume.passedOver([]checkpoint.Found{f})[0]}
}

// latestSkipped returns those that are later than the checkpoint that was found, or may be since they tell no
// step, the latest first.
func latestSkipped(all []skippedCheckpoint, best *checkpoint.Found) []checkpoint.Passed {
	slices.SortStableFunc(all, func(a, b skippedCheckpoint) int { return cmp.Compare(b.step, a.step) })
	var latest []checkpoint.Passed
	for _, p := range all {
		if len(latest) < maxPassedOver && (best == nil || p.step < 0 || p.step > best.Step) {
			latest = append(latest, p.report)
		}
	}
	return latest
}

// searchVolume searches one volume. The trainer makes its directory with its first save: if only the
// directory is missing, and not the volume above it, there is no checkpoint.
func searchVolume(sc *scanner, volume location, r scanRequest) (checkpoint.Choice, error) {
	if uri := r.selection.URI; uri != "" {
		if r.selection.Path = volume.pathOf(uri); r.selection.Path == "" {
			return checkpoint.Choice{}, nil // it is on another volume
		}
	}
	choice, err := sc.choose(r)
	if errors.Is(err, fs.ErrNotExist) {
		above := filepath.Dir(volume.base)
		if info, statErr := os.Stat(above); statErr == nil && info.IsDir() && above != "/" {
			return checkpoint.Choice{}, nil
		}
	}
	return choice, err
}

package checkpoint

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// unfinishedSuffix makes the name of the empty file that NeMo keeps beside a checkpoint while it saves
// (nemo/lightning/pytorch/callbacks/model_checkpoint.py). NeMo deletes such a checkpoint at its next start.
const unfinishedSuffix = "-unfinished"

// verlDir is the directory of a step of verl. It has a directory for each model, verlActor for the first.
var verlDir = regexp.MustCompile(`^global_step_[0-9]{1,15}$`)

const verlActor = "actor"

// checkMarkers checks what programs write beside the directory of a step, where the directory itself does not
// show that it is whole. found is what the directory contains.
func (s *scanner) checkMarkers(d *listing, name string, found []Found) error {
	if d.has(name + unfinishedSuffix) {
		return torn("%s is there: its save has not finished", name+unfinishedSuffix)
	}
	isVerl := verlDir.MatchString(name) && slices.ContainsFunc(found, func(f Found) bool {
		return within(f.Path, path.Join(d.path, name, verlActor))
	})
	isTracked := (verlDir.MatchString(name) || mgDir.MatchString(name)) && d.has(mgTracker)
	if !isVerl && !isTracked {
		return nil
	}
	if reached, err := s.mgReached(d); reached < stepOf(name) {
		return err
	}
	return nil
}

// checkUnfinished checks the marker of NeMo for a checkpoint that is one file.
func checkUnfinished(d *listing, name string) error {
	if marker := strings.TrimSuffix(name, path.Ext(name)) + unfinishedSuffix; d.has(marker) {
		return torn("%s is there: its save has not finished", marker)
	}
	return nil
}

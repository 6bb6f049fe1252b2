package checkpoint

import (
	"fmt"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
)

const dsTracker = "latest"

var (
	dsModel = regexp.MustCompile(`^(zero_pp_rank_[0-9]+_)?mp_rank_[0-9]+_model_states\.pt$`)
	dsOptim = regexp.MustCompile(
		`^((?:bf16_|fp16_)?zero_pp_rank_)([0-9]+)(_mp_rank_)([0-9]+)(_?optim_states\.pt)$`)
)

func isDeepSpeed(d *listing) bool {
	return slices.ContainsFunc(d.files, func(f string) bool {
		return dsModel.MatchString(f) || dsOptim.MatchString(f)
	})
}

// findDeepSpeed finds the tags in a directory, and the tracker beside them.
func (s *scanner) findDeepSpeed(d *listing, taken map[string]bool) ([]Found, error) {
	var found []Found
	for _, name := range d.dirs {
		if taken[name] {
			continue
		}
		sub, err := s.list(d.at(name))
		if err != nil {
			return nil, err
		}
		if sub.has(ManifestName) || !isDeepSpeed(sub) {
			continue
		}
		taken[name] = true
		f := Found{Path: sub.path, Layout: LayoutDeepSpeed, Step: stepOf(name)}
		f.setState(s.checkDeepSpeed(sub, d))
		found = append(found, f)
	}
	tag, _ := s.dsTag(d)
	if len(found) > 0 && !d.hasDir(tag) && isFile(tag) && stepOf(tag) > newestStep(d.dirs) {
		found = append(found, Found{
			Path: d.at(tag), Layout: LayoutDeepSpeed, State: Torn, Step: stepOf(tag),
			Why: dsTracker + " names it, and it is not there",
		})
	}
	return found, nil
}

// dsTag is the tag that the tracker in a directory names.
func (s *scanner) dsTag(d *listing) (string, error) {
	if !d.has(dsTracker) {
		return "", torn("%s is missing next to it: it is written last", dsTracker)
	}
	data, err := s.read(d.at(dsTracker), 1024)
	tag := strings.TrimSpace(string(data))
	if err == nil && tag == "" {
		err = torn("%s is empty", dsTracker)
	}
	return Printable(tag, 200), err
}

// dsReached checks that the tracker in a directory has reached a tag. A program that is killed while it
// writes the tracker leaves it empty or cut. It then names no tag that is there, and all tags but the newest
// were reached before.
func (s *scanner) dsReached(name string, parent *listing) error {
	tag, err := s.dsTag(parent)
	step := stepOf(name)
	isCut := parent.has(dsTracker) && !parent.hasDir(tag) && stepOf(tag) < step
	switch {
	case isCut && step >= 0 && step < newestStep(parent.dirs):
		return nil
	case err != nil:
		return err
	case tag != name && (step < 0 || stepOf(tag) < step):
		return torn("%s still names %s", dsTracker, tag)
	}
	return nil
}

// checkDeepSpeed checks the directory of one tag; parent holds the tracker. DeepSpeedEngine.save_checkpoint
// (deepspeed/runtime/engine.py) writes each rank's shards and then, on rank 0 alone and before the barrier,
// `latest`. The tracker may therefore be written before the other ranks' data, so the shards are counted.
// Their number follows from dp_world_size and mp_world_size in the model states, which every save has.
func (s *scanner) checkDeepSpeed(d, parent *listing) error {
	if err := s.dsReached(path.Base(d.path), parent); err != nil {
		return err
	}
	first := ""
	for _, n := range []string{"mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_model_states.pt"} {
		if d.has(n) {
			first = n
		}
	}
	if first == "" {
		return torn("mp_rank_00_model_states.pt is missing")
	}
	var sizes map[string]int64
	if err := s.checkFormat(d.at(first), func(r io.ReaderAt, size int64) (err error) {
		sizes, err = torchInts(r, size, "dp_world_size", "mp_world_size")
		return err
	}); err != nil {
		return err
	}
	dp, mp := sizes["dp_world_size"], sizes["mp_world_size"]
	if dp < 1 || mp < 1 || dp > 1<<20 || mp > 1<<20 || dp*mp > 1<<20 {
		return unknown("%s does not say how many shards there are", first)
	}
	for shard := range dsShards(d, first, int(dp), int(mp)) {
		if err := s.checkFormat(d.at(shard), checkZip); err != nil {
			return err
		}
	}
	return s.dsExtraFiles(d)
}

// dsExtraFiles checks the files of layers and experts. How many there must be is unknown, but those present
// must be whole.
func (s *scanner) dsExtraFiles(d *listing) error {
	for _, f := range d.files {
		if strings.HasSuffix(f, "_states.pt") && (strings.HasPrefix(f, "layer_") || strings.HasPrefix(f, "exp")) {
			if err := s.checkFormat(d.at(f), checkZip); err != nil {
				return err
			}
		}
	}
	return nil
}

// dsShards lists the files that must be there. Only ZeRO splits the optimizer into dp x mp files; without it,
// the optimizer's state is part of the model states. Rank 0 writes its own part before `latest`, so one part
// is there if ZeRO is in use.
//
// They are counted out one by one: the numbers come from a file, and the first that is missing ends it.
func dsShards(d *listing, first string, dp, mp int) iter.Seq[string] {
	zero3 := strings.HasPrefix(first, "zero_")
	var optim []string
	for _, f := range d.files {
		if m := dsOptim.FindStringSubmatch(f); m != nil {
			optim = m
			break
		}
	}
	return func(yield func(string) bool) {
		for m := range mp {
			if !zero3 && !yield(fmt.Sprintf("mp_rank_%02d_model_states.pt", m)) {
				return
			}
			for p := range dp {
				if zero3 && !yield(fmt.Sprintf("zero_pp_rank_%d_mp_rank_%02d_model_states.pt", p, m)) {
					return
				}
				if optim != nil && !yield(fmt.Sprintf("%s%d%s%02d%s", optim[1], p, optim[3], m, optim[5])) {
					return
				}
			}
		}
	}
}

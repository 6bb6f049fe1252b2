package checkpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	mgTracker = "latest_checkpointed_iteration.txt"
	mgConfig  = "metadata.json"
	mgBackend = `"sharded_backend"` // a key in it
	mgModel   = "model_optim_rng.pt"
	mgOptim   = "distrib_optim.pt"
	mgCommon  = "common.pt"
	// mgCommonState begins the name under which torch DCP stores the state that all ranks share.
	mgCommonState = "common_state/shard_"
	// Files of Megatron Bridge in an iteration.
	mgBridgeState  = "train_state.pt"
	mgBridgeConfig = "run_config.yaml"
)

var (
	mgDir  = regexp.MustCompile(`^iter_([0-9]{7,15})$`)
	mgRank = regexp.MustCompile(`^mp_rank_[0-9]{2,}(_[0-9]{3,}){0,2}$`)
)

// isMegatron recognizes what Megatron writes in any of its formats. Other programs name directories like it.
func isMegatron(d *listing) bool {
	return d.has(mgConfig) || d.has(mgCommon) || isTorchDCP(d) || slices.ContainsFunc(d.dirs, mgRank.MatchString)
}

// findMegatron finds the iterations in a directory, and the tracker beside them.
func (s *scanner) findMegatron(d *listing, taken map[string]bool) ([]Found, error) {
	var found []Found
	reached, trackerErr := s.mgReached(d)
	for _, name := range d.dirs {
		m := mgDir.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		sub, err := s.list(d.at(name))
		if err != nil {
			return nil, err
		}
		if sub.has(ManifestName) || !isMegatron(sub) {
			continue
		}
		taken[name] = true
		step, _ := strconv.ParseInt(m[1], 10, 64)
		f := Found{Path: sub.path, Layout: LayoutMegatron, Step: step}
		switch {
		case reached < step:
			f.setState(trackerErr)
		default:
			f.setState(s.checkMegatron(sub))
		}
		found = append(found, f)
	}
	if name := fmt.Sprintf("iter_%07d", reached); len(found) > 0 && reached > newestStep(d.dirs) {
		found = append(found, Found{
			Path: d.at(name), Layout: LayoutMegatron, State: Torn, Step: reached,
			Why: mgTracker + " names it, and it is not there",
		})
	}
	return found, nil
}

// newestStep returns the highest step that names tell, noStep if none does.
func newestStep(names []string) int64 {
	newest := int64(noStep)
	for _, name := range names {
		newest = max(newest, stepOf(name))
	}
	return newest
}

// mgReached returns the step up to which the directories beside a tracker are finished, and why the later
// ones are not. A program that is killed while it writes the tracker leaves it empty or cut. It then names no
// directory that is there, and all directories but the newest are finished: they had a tracker before.
func (s *scanner) mgReached(d *listing) (int64, error) {
	n, err := s.mgIteration(d)
	if !d.has(mgTracker) {
		return noStep, err
	}
	if err == nil {
		err = torn("%s still says %d", mgTracker, n)
	} else {
		n = noStep
	}
	isNamed := func(name string) bool { return stepOf(name) == n }
	newest := newestStep(d.dirs)
	if n != 0 && n < newest && !slices.ContainsFunc(d.dirs, isNamed) {
		return newest - 1, err
	}
	return n, err
}

// mgIteration is the iteration that the tracker in a directory names, 0 for "release", which is no step of a
// training.
func (s *scanner) mgIteration(d *listing) (int64, error) {
	if !d.has(mgTracker) {
		return 0, torn("%s is missing next to it: it is written last", mgTracker)
	}
	data, err := s.read(d.at(mgTracker), 64)
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(data))
	if text == "release" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, torn("%s holds no number", mgTracker)
	}
	return n, nil
}

// checkMegatron checks the directory of one iteration. save_checkpoint (megatron/training/checkpointing.py)
// writes the tracker after all ranks have written. The arguments saved with the model contain the sizes of
// the tensor, pipeline and expert groups. All other formats have the files of torch DCP.
func (s *scanner) checkMegatron(d *listing) error {
	if isTorchDCP(d) {
		return s.checkMegatronDCP(d)
	}
	if d.has(mgConfig) {
		return unknown("its sharded backend is not torch_dist")
	}
	ranks := slices.DeleteFunc(slices.Clone(d.dirs), func(n string) bool { return !mgRank.MatchString(n) })
	if len(ranks) == 0 {
		return torn("it has no mp_rank directories")
	}
	want, err := s.mgExpectedRanks(d.at(ranks[0] + "/" + mgModel))
	if err != nil {
		return err
	}
	optim := false
	for _, name := range ranks {
		sub, err := s.list(d.at(name))
		if err != nil {
			return err
		}
		optim = optim || sub.has(mgOptim)
	}
	for name := range want {
		if !d.hasDir(name) {
			return torn("%s is missing", name)
		}
		files := []string{mgModel}
		if optim { // the distributed optimizer writes one into every rank's directory
			files = append(files, mgOptim)
		}
		for _, file := range files {
			if err := s.checkFormat(d.at(name+"/"+file), checkZip); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// mgExpectedRanks lists the rank directories that the parallel sizes in a model file ask for.
func (s *scanner) mgExpectedRanks(model string) (iter.Seq[string], error) {
	const (
		tensor   = "tensor_model_parallel_size"
		pipeline = "pipeline_model_parallel_size"
		expert   = "expert_model_parallel_size"
	)
	var sizes map[string]int64
	err := s.checkFormat(model, func(r io.ReaderAt, size int64) (err error) {
		sizes, err = torchInts(r, size, tensor, pipeline, expert)
		return err
	})
	if err != nil {
		return nil, err
	}
	tp, pp, ep := sizes[tensor], sizes[pipeline], max(sizes[expert], 1)
	if tp < 1 || pp < 1 || tp > 1<<16 || pp > 1<<16 || ep > 1<<16 || tp*pp*ep > 1<<20 {
		return nil, unknown("%s does not say how many ranks there are", mgModel)
	}
	return mgRanks(int(tp), int(pp), int(ep)), nil
}

// mgRanks counts out the rank directories of the given parallel sizes. Megatron's get_checkpoint_name leaves
// out a group of one member.
func mgRanks(tp, pp, ep int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for t := range tp {
			for p := range pp {
				for e := range ep {
					name := fmt.Sprintf("mp_rank_%02d", t)
					if pp > 1 {
						name += fmt.Sprintf("_%03d", p)
					}
					if ep > 1 {
						name += fmt.Sprintf("_%03d", e)
					}
					if !yield(name) {
						return
					}
				}
			}
		}
	}
}

// checkTorchDist checks what Megatron's format torch_dist has beside the files of torch DCP, in whatever
// directory: metadata.json, which is written last, and the state that all ranks share. The state is in
// common.pt or, in megatron-core 0.19, in the files of torch DCP.
func (s *scanner) checkTorchDist(d *listing, hasCommonState bool) error {
	if !hasCommonState && !d.has(mgConfig) {
		return nil
	}
	if !d.has(mgConfig) {
		return torn("%s is missing: it is written last", mgConfig)
	}
	data, err := s.read(d.at(mgConfig), 64<<10)
	switch isOurs := strings.Contains(string(data), mgBackend); {
	case err != nil:
		return err
	case !hasCommonState && !isOurs:
		return nil // another program's file
	case !json.Valid(data):
		return torn("%s cannot be read to its end", mgConfig)
	case hasCommonState:
		return nil
	}
	return s.checkFormat(d.at(mgCommon), checkZip)
}

// checkMegatronDCP checks an iteration in the files of torch DCP. The formats fsdp_dtensor and torch_dcp have
// nothing else. Megatron Bridge adds train_state.pt, and run_config.yaml after the tracker.
func (s *scanner) checkMegatronDCP(d *listing) error {
	if err := s.checkTorchDCP(d); err != nil {
		return err
	}
	if d.has(mgCommon) {
		if !d.has(mgConfig) {
			return torn("%s is missing: it is written last", mgConfig)
		}
		if _, err := s.jsonInt(d.at(mgConfig), ""); err != nil {
			return err
		}
	}
	if !d.has(mgBridgeState) && !d.has(mgBridgeConfig) {
		return nil
	}
	if d.sizes[mgBridgeConfig] == 0 {
		return torn("%s is missing or empty", mgBridgeConfig)
	}
	return s.checkFormat(d.at(mgBridgeState), checkZip)
}

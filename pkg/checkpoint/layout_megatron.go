package checkpoint

import (
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
	mgModel   = "model_optim_rng.pt"
	mgOptim   = "distrib_optim.pt"
)

var (
	mgDir  = regexp.MustCompile(`^iter_([0-9]{7,15})$`)
	mgRank = regexp.MustCompile(`^mp_rank_[0-9]{2,}(_[0-9]{3,}){0,2}$`)
)

// findMegatron finds the iterations in a directory, and the tracker beside them.
func (s *scanner) findMegatron(d *listing, taken map[string]bool) ([]Found, error) {
	var found []Found
	tracker, trackerErr := s.mgIteration(d)
	for _, name := range d.dirs {
		m := mgDir.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		sub, err := s.list(d.at(name))
		if err != nil {
			return nil, err
		}
		if sub.has(ManifestName) {
			continue
		}
		taken[name] = true
		step, _ := strconv.ParseInt(m[1], 10, 64)
		f := Found{Path: sub.path, Layout: LayoutMegatron, Step: step}
		switch {
		case trackerErr != nil:
			f.setState(trackerErr)
		case tracker < step:
			f.setState(torn("%s still says %d", mgTracker, tracker))
		default:
			f.setState(s.checkMegatron(sub))
		}
		found = append(found, f)
	}
	if name := fmt.Sprintf("iter_%07d", tracker); trackerErr == nil && tracker > 0 && !d.hasDir(name) {
		found = append(found, Found{
			Path: d.at(name), Layout: LayoutMegatron, State: Torn, Step: tracker,
			Why: mgTracker + " names it, and it is not there",
		})
	}
	return found, nil
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
// the tensor, pipeline and expert groups. The distributed form (megatron/core/dist_checkpointing) has
// metadata.json, common.pt and, with backend torch_dist, the files of torch DCP.
func (s *scanner) checkMegatron(d *listing) error {
	if d.has(mgConfig) || isTorchDCP(d) {
		return s.checkMegatronDist(d)
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

// checkMegatronDist checks an iteration in the distributed form.
func (s *scanner) checkMegatronDist(d *listing) error {
	switch {
	case !d.has(mgConfig):
		return torn("%s is missing", mgConfig)
	case !d.has("common.pt"):
		return torn("common.pt is missing")
	}
	if _, err := s.jsonInt(d.at(mgConfig), ""); err != nil {
		return err
	}
	if err := s.checkFormat(d.at("common.pt"), checkZip); err != nil {
		return err
	}
	if !isTorchDCP(d) {
		return unknown("its sharded backend is not torch_dist")
	}
	return s.checkTorchDCP(d)
}

package checkpoint

import (
	"fmt"
	"io"
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

// megatron finds iterations and the tracker beside them.
func (l *look) megatron(d *listing, taken map[string]bool) error {
	tracker, trackerErr := l.iteration(d)
	for _, name := range d.dirs {
		m := mgDir.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		sub, err := l.list(d.at(name))
		if err != nil {
			return err
		}
		if sub.has(ManifestName) {
			continue
		}
		taken[name] = true
		step, _ := strconv.ParseInt(m[1], 10, 64)
		f := Found{Path: sub.path, Layout: LayoutMegatron, Step: step}
		switch {
		case trackerErr != nil:
			f.judge(trackerErr)
		case tracker < step:
			f.judge(torn("%s still says %d", mgTracker, tracker))
		default:
			f.judge(l.checkMegatron(sub))
		}
		if err := l.add(f); err != nil {
			return err
		}
	}
	if name := fmt.Sprintf("iter_%07d", tracker); trackerErr == nil && tracker > 0 && !d.hasDir(name) {
		return l.add(Found{Path: d.at(name), Layout: LayoutMegatron, State: Torn, Step: tracker, Why: mgTracker + " names it, and it is not there"})
	}
	return nil
}

// iteration that the tracker names; 0 for "release", which is no step of a training.
func (l *look) iteration(d *listing) (int64, error) {
	if !d.has(mgTracker) {
		return 0, torn("%s is missing beside it: it is written last", mgTracker)
	}
	data, err := l.read(d.at(mgTracker), 64)
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

// checkMegatron: save_checkpoint (megatron/training/checkpointing.py) writes the tracker when all ranks have written. The sizes of the
// tensor, pipeline and expert groups stand in the arguments that are saved with the model. The distributed form
// (megatron/core/dist_checkpointing) has metadata.json, common.pt and, with backend torch_dist, the files of torch DCP.
func (l *look) checkMegatron(d *listing) error {
	if d.has(mgConfig) || looksTorchDCP(d) {
		return l.checkMegatronDist(d)
	}
	ranks := slices.DeleteFunc(slices.Clone(d.dirs), func(n string) bool { return !mgRank.MatchString(n) })
	if len(ranks) == 0 {
		return torn("it has no mp_rank directories")
	}
	var sizes map[string]int64
	err := l.wholeFile(d.at(ranks[0]+"/"+mgModel), func(r io.ReaderAt, size int64) (err error) {
		sizes, err = torchInts(r, size, "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size")
		return err
	})
	if err != nil {
		return err
	}
	tp, pp, ep := sizes["tensor_model_parallel_size"], sizes["pipeline_model_parallel_size"], max(sizes["expert_model_parallel_size"], 1)
	if tp < 1 || pp < 1 || tp > 1<<16 || pp > 1<<16 || ep > 1<<16 || tp*pp*ep > 1<<20 {
		return unknown("%s does not say how many ranks there are", mgModel)
	}
	optim := false
	for _, name := range ranks {
		sub, err := l.list(d.at(name))
		if err != nil {
			return err
		}
		optim = optim || sub.has(mgOptim)
	}
	for _, name := range mgRanks(int(tp), int(pp), int(ep)) {
		if !d.hasDir(name) {
			return torn("%s is missing", name)
		}
		files := []string{mgModel}
		if optim { // with the distributed optimizer each of them has one
			files = append(files, mgOptim)
		}
		for _, file := range files {
			if err := l.wholeFile(d.at(name+"/"+file), checkZip); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// mgRanks: get_checkpoint_name names only the groups that have more than one member.
func mgRanks(tp, pp, ep int) []string {
	var out []string
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
				out = append(out, name)
			}
		}
	}
	return out
}

func (l *look) checkMegatronDist(d *listing) error {
	switch {
	case !d.has(mgConfig):
		return torn("%s is missing", mgConfig)
	case !d.has("common.pt"):
		return torn("common.pt is missing")
	}
	if _, err := l.jsonInt(d.at(mgConfig), ""); err != nil {
		return err
	}
	if err := l.wholeFile(d.at("common.pt"), checkZip); err != nil {
		return err
	}
	if !looksTorchDCP(d) {
		return unknown("its sharded backend is not torch_dist")
	}
	return l.checkTorchDCP(d, nil)
}

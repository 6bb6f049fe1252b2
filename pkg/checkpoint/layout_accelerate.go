package checkpoint

import (
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	acRandom    = "random_states_"
	acOptimizer = "optimizer.bin"
	acFSDPModel = "pytorch_model_fsdp_0"
	acFSDPOptim = "optimizer_0"
	acDeepSpeed = "pytorch_model"
)

var (
	acRank = regexp.MustCompile(`^random_states_([0-9]{1,7})\.pkl$`)
	// acNamed are the files of save_accelerator_state whose names do not depend on the number of ranks.
	acNamed = regexp.MustCompile(`^((model|pytorch_model|optimizer|scheduler|sampler|dl_state_dict|` +
		`custom_checkpoint)(_[0-9]+)?\.(safetensors|bin|pkl)|scaler\.pt)$`)
)

// isAccelerate recognizes Accelerator.save_state in a directory of any name. The Trainer, which uses parts of
// it, writes other random states and trainer_state.json.
func isAccelerate(d *listing) bool {
	if d.has(hfState) || slices.ContainsFunc(d.files, hfRNG.MatchString) {
		return false
	}
	return slices.ContainsFunc(d.files, acRank.MatchString) || d.hasDir(acFSDPModel) ||
		d.hasDir(acDeepSpeed) && d.has(dsTracker)
}

// checkAccelerate checks a save of Accelerator.save_state (accelerate/checkpointing.py). Rank 0 writes
// models, optimizers, schedulers and samplers, then its random states, and last the objects that the program
// has registered. No file lists them, so what the save before it has must be here too (see Found.files). The
// random states of other ranks may be missing: load_state logs that and continues.
func (s *scanner) checkAccelerate(d *listing, f *Found) error {
	if !d.has(acRandom + "0.pkl") {
		return unknown("%s0.pkl is missing: Accelerate writes it after the weights", acRandom)
	}
	for _, name := range d.files {
		if acNamed.MatchString(name) {
			f.files = append(f.files, d.at(name))
		}
		if err := s.checkAccelerateFile(d.at(name)); err != nil {
			return err
		}
	}
	hasWeights, err := s.accelerateFolders(d, f)
	if err != nil {
		return err
	}
	if !d.has(acOptimizer) && !d.hasDir(acFSDPOptim) && !d.hasDir(acDeepSpeed) {
		return unknown("it has no optimizer that is known")
	}
	if !hasWeights && !slices.ContainsFunc(d.files, isWeightFile) {
		return unknown("it has no weights that are known")
	}
	return acRanks(d)
}

// accelerateFolders checks what FSDP, DeepSpeed and hooks of the program write into folders, and reports
// whether weights are among it.
func (s *scanner) accelerateFolders(d *listing, f *Found) (hasWeights bool, err error) {
	for _, name := range d.dirs {
		sub, err := s.list(d.at(name))
		if err != nil {
			return false, err
		}
		switch {
		case isTorchDCP(sub):
			err = s.checkTorchDCP(sub)
		case isDeepSpeed(sub):
			err = s.checkDeepSpeed(sub, d)
		case slices.ContainsFunc(sub.files, isWeightFile):
			for _, file := range sub.files {
				if err = s.checkAccelerateFile(sub.at(file)); err != nil {
					break
				}
			}
		default:
			continue
		}
		if err != nil {
			return false, err
		}
		hasWeights, f.files = true, append(f.files, sub.path)
	}
	return hasWeights, nil
}

func isWeightFile(name string) bool {
	return strings.HasSuffix(name, ".safetensors") ||
		strings.HasPrefix(name, "pytorch_model") && strings.HasSuffix(name, ".bin")
}

// checkAccelerateFile checks a file by the ending of its name. Files of other programs are left out.
func (s *scanner) checkAccelerateFile(p string) error {
	var check func(io.ReaderAt, int64) error
	switch path.Ext(p) {
	case ".safetensors":
		check = checkSafetensors
	case ".bin", ".pkl":
		check = checkZip
	default:
		return nil
	}
	return s.checkFormat(p, check)
}

// acRanks checks that the random states of the ranks have no gap.
func acRanks(d *listing) error {
	highest := 0
	for _, name := range d.files {
		if m := acRank.FindStringSubmatch(name); m != nil {
			highest = max(highest, int(number(m[1])))
		}
	}
	for i := range highest {
		if name := acRandom + strconv.Itoa(i) + ".pkl"; !d.has(name) {
			return torn("%s is missing", name)
		}
	}
	return nil
}

package checkpoint

import (
	"encoding/json"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	hfDir     = regexp.MustCompile(`^(tmp-)?checkpoint-([0-9]{1,15})$`)
	hfRNG     = regexp.MustCompile(`^rng_state(_[0-9]+)?\.pth$`)
	hfMarkers = regexp.MustCompile(`^(trainer_state\.json|training_args\.bin|config\.json|` +
		`optimizer\.(pt|bin)|scheduler\.pt|rng_state.*\.pth|` +
		`(model|adapter_model).*\.safetensors|pytorch_model.*\.bin|adapter_model\.bin|` +
		`checkpoint-is-incomplete\.txt)$`)
	// The names of transformers.utils. An index names its shards in weight_map.
	hfWeights = []string{
		"model.safetensors", "pytorch_model.bin", "adapter_model.safetensors", "adapter_model.bin",
	}
	hfIndexes = []string{"model.safetensors.index.json", "pytorch_model.bin.index.json"}
)

const (
	hfState = "trainer_state.json"
	// hfUnfinished is in a directory while the Trainer saves because of SIGTERM, from before the first file
	// until after the last (trainer_jit_checkpoint.py, transformers 5.24). Each rank removes it when it has
	// saved.
	hfUnfinished = "checkpoint-is-incomplete.txt"
)

// maxShardNames bounds the names of an index's shards, in bytes.
const maxShardNames = 8 << 20

func isHuggingFace(d *listing) bool {
	return hfDir.MatchString(path.Base(d.path)) && slices.ContainsFunc(d.files, hfMarkers.MatchString)
}

// checkHuggingFace checks a checkpoint of the Trainer. Trainer._save_checkpoint (transformers/trainer.py)
// saves model, optimizer, scheduler and random states, and then trainer_state.json. No barrier follows and
// none of its writes is atomic, so every file is checked. Versions 4.36 to 4.38 wrote to tmp-checkpoint-N
// first.
func (s *scanner) checkHuggingFace(d *listing, f *Found) error {
	m := hfDir.FindStringSubmatch(path.Base(d.path))
	if m[1] != "" {
		return torn("a temporary directory that a save left over")
	}
	if d.has(hfUnfinished) {
		return torn("%s is there: a save at SIGTERM has not finished", hfUnfinished)
	}
	if !d.has(hfState) {
		return torn("%s is missing: it is written last", hfState)
	}
	step, err := s.jsonInt(d.at(hfState), "global_step")
	if err != nil {
		return err
	}
	if step != f.Step {
		return torn("%s says step %d", hfState, step)
	}
	if err := s.hfModel(d); err != nil {
		return err
	}
	for _, name := range d.files {
		if strings.HasPrefix(name, "optimizer.") || name == "scheduler.pt" || hfRNG.MatchString(name) {
			if err := s.checkFormat(d.at(name), checkZip); err != nil {
				return err
			}
		}
	}
	return hfRanks(d)
}

// hfModel checks weights and optimizer as the Trainer writes them, or as DeepSpeed or FSDP write them into
// subdirectories.
func (s *scanner) hfModel(d *listing) error {
	for _, name := range d.dirs {
		sub, err := s.list(d.at(name))
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(name, "global_step"):
			return s.checkDeepSpeed(sub, d)
		case isTorchDCP(sub): // pytorch_model_fsdp_0, optimizer_0
			if err := s.checkTorchDCP(sub); err != nil {
				return err
			}
		}
	}
	if d.hasDir("pytorch_model_fsdp_0") && d.hasDir("optimizer_0") {
		return nil
	}
	if err := s.hfWeightFiles(d); err != nil {
		return err
	}
	if !d.has("optimizer.pt") && !d.has("optimizer.bin") && !d.hasDir("optimizer_0") {
		return unknown("optimizer.pt is missing: with save_only_model training cannot go on from it")
	}
	if !d.has("scheduler.pt") {
		return torn("scheduler.pt is missing: the Trainer does not load the optimizer without it")
	}
	return nil
}

// hfWeightFiles checks the weights that the Trainer itself writes.
func (s *scanner) hfWeightFiles(d *listing) error {
	for _, name := range hfIndexes {
		if d.has(name) {
			return s.hfShards(d, name)
		}
	}
	for _, name := range hfWeights {
		if d.has(name) {
			return s.checkFormat(d.at(name), weightCheck(name))
		}
	}
	if d.hasDir("pytorch_model_fsdp_0") {
		return nil
	}
	return torn("its weights are missing")
}

func weightCheck(name string) func(io.ReaderAt, int64) error {
	if strings.HasSuffix(name, ".safetensors") {
		return checkSafetensors
	}
	return checkZip
}

// hfShards checks every weight shard that an index names.
func (s *scanner) hfShards(d *listing, index string) error {
	seen, kept := map[string]bool{}, 0
	err := s.readJSON(d.at(index), func(r io.Reader) error {
		return walkJSON(r, func(at jsonPlace, tok json.Token) error {
			if shard, ok := tok.(string); ok && at.depth == 2 && at.outer == "weight_map" {
				if !seen[shard] {
					seen[shard], kept = true, kept+len(shard)
				}
				if len(seen) > maxShards || kept > maxShardNames {
					return unknown("names more than %d shards", maxShards)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if len(seen) == 0 {
		return torn("%s names no shard", index)
	}
	shards := slices.Sorted(maps.Keys(seen))
	for _, shard := range shards {
		if !isFile(shard) {
			return unknown("%s names a file outside of its directory", index)
		}
		if err := s.checkFormat(d.at(shard), weightCheck(shard)); err != nil {
			return err
		}
	}
	return nil
}

// hfRanks checks that the random states of the ranks have no gap. How many ranks there were is written
// nowhere.
func hfRanks(d *listing) error {
	n := 0
	for _, name := range d.files {
		if strings.HasPrefix(name, "rng_state_") && hfRNG.MatchString(name) {
			n++
		}
	}
	for i := range n {
		if name := "rng_state_" + strconv.Itoa(i) + ".pth"; !d.has(name) {
			return torn("%s is missing", name)
		}
	}
	return nil
}

package checkpoint

import (
	"encoding/json"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	hfDir     = regexp.MustCompile(`^(tmp-)?checkpoint-([0-9]{1,15})$`)
	hfRNG     = regexp.MustCompile(`^rng_state(_[0-9]+)?\.pth$`)
	hfMarkers = regexp.MustCompile(`^(trainer_state\.json|training_args\.bin|optimizer\.(pt|bin)|scheduler\.pt|rng_state.*\.pth|(model|adapter_model).*\.safetensors|pytorch_model.*\.bin|adapter_model\.bin|config\.json)$`)
	// hfWeights by the name that transformers.utils gives them; an index names its shards in weight_map.
	hfWeights = []string{"model.safetensors", "pytorch_model.bin", "adapter_model.safetensors", "adapter_model.bin"}
	hfIndexes = []string{"model.safetensors.index.json", "pytorch_model.bin.index.json"}
)

const hfState = "trainer_state.json"

func looksHuggingFace(d *listing) bool {
	return hfDir.MatchString(path.Base(d.path)) && slices.ContainsFunc(d.files, hfMarkers.MatchString)
}

// checkHuggingFace: Trainer._save_checkpoint (transformers/trainer.py) saves model, optimizer, scheduler and random states, and then
// trainer_state.json. There is no barrier behind it and none of its writes is atomic, so everything is looked at. Versions
// from 4.36 to 4.38 wrote to tmp-checkpoint-N first.
func (l *look) checkHuggingFace(d *listing, f *Found) error {
	m := hfDir.FindStringSubmatch(path.Base(d.path))
	if m[1] != "" {
		return torn("a temporary directory that a save left over")
	}
	if !d.has(hfState) {
		return torn("%s is missing: it is written last", hfState)
	}
	step, err := l.jsonInt(d.at(hfState), "global_step")
	if err != nil {
		return err
	}
	if step != f.Step {
		return torn("%s says step %d", hfState, step)
	}
	if err := l.hfModel(d); err != nil {
		return err
	}
	for _, name := range d.files {
		if strings.HasPrefix(name, "optimizer.") || name == "scheduler.pt" || hfRNG.MatchString(name) {
			if err := l.wholeFile(d.at(name), checkZip); err != nil {
				return err
			}
		}
	}
	return hfRanks(d)
}

// hfModel: weights and optimizer as Trainer writes them, or as DeepSpeed or FSDP write them below it.
func (l *look) hfModel(d *listing) error {
	for _, name := range d.dirs {
		sub, err := l.list(d.at(name))
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(name, "global_step"):
			return l.checkDeepSpeed(sub, d)
		case looksTorchDCP(sub): // pytorch_model_fsdp_0, optimizer_0
			if err := l.checkTorchDCP(sub, nil); err != nil {
				return err
			}
		}
	}
	if d.hasDir("pytorch_model_fsdp_0") && d.hasDir("optimizer_0") {
		return nil
	}
	if err := l.hfWhole(d); err != nil {
		return err
	}
	if !d.has("optimizer.pt") && !d.has("optimizer.bin") && !d.hasDir("optimizer_0") {
		return torn("optimizer.pt is missing: with save_only_model training cannot go on from it")
	}
	return nil
}

func (l *look) hfWhole(d *listing) error {
	for _, name := range hfIndexes {
		if d.has(name) {
			return l.hfShards(d, name)
		}
	}
	for _, name := range hfWeights {
		if d.has(name) {
			return l.wholeFile(d.at(name), weightCheck(name))
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

func (l *look) hfShards(d *listing, index string) error {
	data, err := l.read(d.at(index), 16<<20)
	if err != nil {
		return err
	}
	var ix struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &ix); err != nil || len(ix.WeightMap) == 0 {
		return torn("%s cannot be read", index)
	}
	seen := map[string]bool{}
	for _, shard := range ix.WeightMap {
		seen[shard] = true
	}
	shards := make([]string, 0, len(seen))
	for shard := range seen {
		shards = append(shards, shard)
	}
	slices.Sort(shards)
	for _, shard := range shards {
		if !isFile(shard) {
			return unknown("%s names a file outside of its directory", index)
		}
		if err := l.wholeFile(d.at(shard), weightCheck(shard)); err != nil {
			return err
		}
	}
	return nil
}

// hfRanks: rng_state_0 ... without a gap. How many there were is not written down.
func hfRanks(d *listing) error {
	n := 0
	for _, name := range d.files {
		if strings.HasPrefix(name, "rng_state_") && hfRNG.MatchString(name) {
			n++
		}
	}
	for i := range n {
		if name := "rng_state_" + itoa(i) + ".pth"; !d.has(name) {
			return torn("%s is missing", name)
		}
	}
	return nil
}

// jsonInt reads a whole number of an object's first level, and the rest to its end: half an object is torn.
func (l *look) jsonInt(p, key string) (int64, error) {
	f, err := l.fsys.Open(p)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	dec := json.NewDecoder(io.LimitReader(f, 64<<20))
	dec.UseNumber()
	bad := torn("%s cannot be read to its end", path.Base(p))
	depth, found, isKey, last := 0, int64(noStep), false, ""
	for {
		tok, err := dec.Token()
		if err != nil {
			return 0, bad
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
			isKey = depth == 1
			if depth == 0 {
				return found, nil
			}
			continue
		case string:
			if depth == 1 && isKey {
				last, isKey = v, false
				continue
			}
		case json.Number:
			if n, err := v.Int64(); depth == 1 && last == key && err == nil {
				found = n
			}
		}
		if depth == 0 {
			return 0, bad
		}
		isKey = depth == 1
	}
}

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// stateFile of a checkpoint. Go writes a float64 to JSON so that the same bits are read back.
const stateFile = "state.json"

// state is the content of a checkpoint.
type state struct {
	Step int64 `json:"step"`
	network
}

// writeCheckpoint writes the state below dir. The manifest comes last: it says that the checkpoint is
// complete.
func writeCheckpoint(dir string, s state, manifest checkpoint.Manifest) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	manifest.Files = []checkpoint.File{
		{Name: stateFile, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])},
	}
	manifestData, err := checkpoint.Encode(manifest)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, fmt.Sprintf("step-%010d", s.Step))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, stateFile), data, true); err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, checkpoint.ManifestName), manifestData, true)
}

// readCheckpoint reads what writeCheckpoint has written to dir.
func readCheckpoint(dir string) (state, error) {
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return state{}, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return state{}, fmt.Errorf("reading %s: %w", dir, err)
	}
	if len(s.Parameters) != parameters || len(s.Velocity) != parameters {
		return state{}, fmt.Errorf("%s holds another network", dir)
	}
	return s, nil
}

// replaceFile replaces a file atomically: readers see the old content or the new one. With sync, that holds
// after a power failure too.
func replaceFile(path string, data []byte, sync bool) error {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if sync {
		err = errors.Join(err, f.Sync())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// stateFile of a checkpoint. JSON's numbers are written so that they are read as the same bits.
const stateFile = "state.json"

type state struct {
	Step int64 `json:"step"`
	network
}

// save is called with the lock held. Rank 0 does it, and writes the manifest last: it says that the rest is there.
// The log says why.
func (t *trainer) save(why string) error {
	if t.rank != 0 || t.dir == "" || t.saved == t.step {
		return nil
	}
	data, err := json.Marshal(state{t.step, t.network})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	manifest, err := checkpoint.Encode(checkpoint.Manifest{
		Version: 1, JobUID: t.jobUID, Attempt: int32(t.attempt), Step: t.step, WorldSize: int32(t.world), Framework: "gotrainer",
		Files: []checkpoint.File{{Name: stateFile, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return err
	}
	dir := filepath.Join(t.dir, fmt.Sprintf("step-%010d", t.step))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, stateFile), data, true); err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, checkpoint.ManifestName), manifest, true); err != nil {
		return err
	}
	t.saved = t.step
	return t.log(line{Event: "save", Step: t.step, Why: why})
}

// resume from exactly what the gang was told to, in every rank.
func (t *trainer) resume() error {
	if t.resumeFrom == "" || t.ignoreResume {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(t.resumeFrom, stateFile))
	if err != nil {
		return err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("reading %s: %w", t.resumeFrom, err)
	}
	if len(s.Parameters) != parameters || len(s.Velocity) != parameters {
		return fmt.Errorf("%s holds another network", t.resumeFrom)
	}
	t.network, t.step, t.saved = s.network, s.Step, s.Step
	return nil
}

// tell how far the training is, with the lock held.
func (t *trainer) tell(phase checkpoint.Phase) error {
	if t.rank != 0 || t.statusFile == "" {
		return nil
	}
	status := checkpoint.Status{Step: t.step, TotalSteps: t.steps, Phase: phase, CommandID: t.carriedOut}
	if t.loss > 0 { // there is none before the first step of this attempt
		status.Metrics = map[string]checkpoint.Metric{"loss": checkpoint.Metric(strconv.FormatFloat(t.loss, 'g', -1, 64))}
	}
	data, err := checkpoint.Encode(status)
	if err != nil {
		return err
	}
	return replace(t.statusFile, data, false)
}

// line of the log: one for each step and each checkpoint, one before and one after them.
type line struct {
	Attempt int    `json:"attempt"`
	Event   string `json:"event"`
	Step    int64  `json:"step"`
	Resumed string `json:"resumed,omitempty"`
	Loss    string `json:"loss,omitempty"`
	Weights string `json:"weights,omitempty"`
	Why     string `json:"why,omitempty"`
}

func (t *trainer) log(l line) error {
	if t.rank != 0 {
		return nil
	}
	l.Attempt = t.attempt
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err := t.out.Write(text); err != nil || t.logFile == "" {
		return err
	}
	f, err := os.OpenFile(t.logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// replace a file whole: readers see the old one or the new one, with sync also after the power has failed.
func replace(path string, data []byte, sync bool) error {
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

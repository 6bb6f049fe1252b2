package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const steps = 60

// attempt runs one attempt of a gang of three ranks in this process, and returns what rank 0 logged. at is
// called after each step of rank 0.
func attempt(t *testing.T, dir string, n int, resume string, at func(step int64, sigterm func())) []line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	ctx, sigterm := context.WithCancel(t.Context())
	defer sigterm()
	out := &stepWatcher{at: func(step int64) {
		if at != nil {
			at(step, sigterm)
		}
	}}
	ends := make(chan error, 3)
	for rank := range 3 {
		env := map[string]string{
			"RANK": strconv.Itoa(rank), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
			checkpoint.EnvAttempt:     strconv.Itoa(n),
			checkpoint.EnvDir:         filepath.Join(dir, checkpoint.AttemptDir(int32(n))),
			checkpoint.EnvResume:      resume,
			checkpoint.EnvStatusFile:  filepath.Join(dir, "status-"+strconv.Itoa(rank)),
			checkpoint.EnvCommandFile: filepath.Join(dir, "command"),
			checkpoint.EnvBeatFile:    filepath.Join(dir, "beat-"+strconv.Itoa(rank)),
			checkpoint.EnvRehearsal:   "1",
		}
		r := &trainer{steps: steps, seed: 1, pause: 5 * time.Millisecond, log: eventLog{out: out}}
		if err := r.configure(func(name string) string { return env[name] }); err != nil {
			t.Fatal(err)
		}
		r.interval = time.Hour
		if rank == 0 { // another program could take a released port
			r.listener = listener
		}
		go func() { ends <- r.run(ctx) }()
	}
	for range 3 {
		if err := <-ends; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) &&
			!strings.Contains(err.Error(), "connection reset") {
			t.Error(err)
		}
	}
	if at == nil { // nothing stops it
		for rank := range 3 {
			data, err := os.ReadFile(filepath.Join(dir, "beat-"+strconv.Itoa(rank)))
			beat, wrong := checkpoint.ParseBeatLine(data)
			if err != nil || wrong != nil || beat.Step == nil || *beat.Step != steps {
				t.Errorf("rank %d has the beat %q: %v, %v", rank, data, err, wrong)
			}
		}
	}
	var lines []line
	for text := range strings.Lines(out.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Event != "save" {
			lines = append(lines, l)
		}
	}
	return lines
}

// stepWatcher is a log that calls at for every step in it.
type stepWatcher struct {
	bytes.Buffer
	at func(int64)
}

func (w *stepWatcher) Write(p []byte) (int, error) {
	var l line
	if json.Unmarshal(p, &l) == nil && l.Event == "step" {
		w.at(l.Step)
	}
	return w.Buffer.Write(p)
}

func TestResumesBitForBit(t *testing.T) {
	uninterrupted := attempt(t, t.TempDir(), 1, "", nil)
	if got := uninterrupted[len(uninterrupted)-1]; len(uninterrupted) != steps+2 || got.Event != "end" ||
		got.Weights == "" {
		t.Fatalf("%d lines, the last one %+v", len(uninterrupted), got)
	}
	if first, last := loss(t, uninterrupted[1]), loss(t, uninterrupted[steps]); last >= first/2 {
		t.Errorf("nothing is learned: the loss goes from %g to %g", first, last)
	}
	for name, interrupt := range map[string]func(dir string, sigterm func()){
		"SIGTERM": func(_ string, sigterm func()) { sigterm() },
		"command": func(dir string, _ func()) {
			command := checkpoint.Command{Command: checkpoint.CommandCheckpointAndExit, ID: "drain-1"}
			data, _ := checkpoint.Encode(command)
			if err := replaceFile(filepath.Join(dir, "command"), data, false); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := attempt(t, dir, 1, "", func(step int64, sigterm func()) {
				if step == 20 {
					interrupt(dir, sigterm)
				}
			})
			saved := savedAt(t, dir, first[len(first)-1].Step, name == "command")
			_ = os.Remove(filepath.Join(dir, "command"))
			second := attempt(t, dir, 2, saved, nil)
			checkCompared(t, dir, saved)
			all := append(first[1:], second[1:]...)
			for i, l := range all {
				want := uninterrupted[i+1]
				if l.Step != want.Step || l.Loss != want.Loss || l.Weights != want.Weights {
					t.Fatalf("line %d is %+v, uninterrupted %+v", i, l, want)
				}
			}
			if len(all) != steps+1 {
				t.Errorf("%d lines", len(all))
			}
		})
	}
}

// savedAt returns the one checkpoint that an interrupted attempt has left at the step that it reached, and
// checks its status.
func savedAt(t *testing.T, dir string, reached int64, byCommand bool) string {
	t.Helper()
	found, err := checkpoint.Scan(os.DirFS(dir), ".", checkpoint.Options{Sums: true})
	if err != nil || len(found) != 1 || found[0].State != checkpoint.Complete ||
		found[0].Step != reached || reached < 20 || reached >= steps {
		t.Fatalf("stopped at step %d; found %+v, %v", reached, found, err)
	}
	s := statusOf(t, dir, 0)
	if s.Step != reached || (s.CommandID == "drain-1") != byCommand || s.Batch != batchOf(1, reached, 0) {
		t.Errorf("status %+v", s)
	}
	return filepath.Join(dir, found[0].Path)
}

func statusOf(t *testing.T, dir string, rank int) *checkpoint.Status {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "status-"+strconv.Itoa(rank)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := checkpoint.ParseStatus(data)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return s
}

// checkCompared checks that each rank of an attempt has reported what it has loaded.
func checkCompared(t *testing.T, dir, loaded string) {
	t.Helper()
	weights := statusOf(t, dir, 0).Weights
	for rank := range 3 {
		if s := statusOf(t, dir, rank); s.Loaded != loaded || s.Weights != weights || len(weights) != 16 {
			t.Errorf("rank %d has loaded %q, weights %q; want %q, %q", rank, s.Loaded, s.Weights, loaded, weights)
		}
	}
}

func loss(t *testing.T, l line) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(l.Loss, 64)
	if err != nil {
		t.Fatal(fmt.Errorf("%+v: %w", l, err))
	}
	return f
}

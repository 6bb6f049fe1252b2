package agent

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

const (
	// beatPoll is how often the trainer's files are looked at, usagePoll how often its container is.
	beatPoll  = time.Second
	usagePoll = 10 * time.Second

	// maxBeatFiles of a rank, of maxStatusFiles in their directory.
	maxBeatFiles   = 128
	maxStatusFiles = 512
	// maxBeatMistakes are logged.
	maxBeatMistakes = 10
)

// watcher looks at the progress of the trainer, and posts it as beats. No error of it affects the trainer.
type watcher struct {
	opts      *options
	state     *state
	clock     clock
	log       *log.Logger
	container container

	mu       sync.Mutex
	progress *progress
	// used up to now and up to the look before. They are equal at the first look.
	used, usedBefore consumption
	processes        processStates
	// mistakes in beat files that were logged.
	mistakes []string
}

func newWatcher(o *options, s *state, c clock, l *log.Logger) *watcher {
	return &watcher{
		opts: o, state: s, clock: c, log: l, container: ownContainer(), progress: newProgress(c.Now()),
	}
}

// run looks until the context ends.
func (w *watcher) run(ctx context.Context) {
	w.lookAtContainer()
	for next := w.clock.Now().Add(usagePoll); ; {
		select {
		case <-ctx.Done():
			return
		case <-w.clock.After(beatPoll):
		}
		w.lookAtFiles()
		if now := w.clock.Now(); !now.Before(next) {
			w.lookAtContainer()
			next = now.Add(usagePoll)
		}
	}
}

// lookAtFiles reads without the lock: a read may hang.
func (w *watcher) lookAtFiles() {
	l := look{beats: map[string]string{}, status: w.state.kubeflowStatus()}
	for _, name := range beatFileNames(w.opts.beatFile) {
		path := filepath.Join(filepath.Dir(w.opts.beatFile), name)
		if data, err := readBounded(path, checkpoint.MaxBeatLineBytes); err == nil {
			line, _, _ := strings.Cut(string(data), "\n")
			l.beats[name] = line
		}
	}
	if data, err := readBounded(w.opts.statusFile, checkpoint.MaxStatusBytes); err == nil {
		if status, err := checkpoint.ParseStatus(data); err == nil { // otherwise the observer reports it
			l.status = status
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.progress.add(w.clock.Now(), l); err != nil {
		text := checkpoint.Printable(err.Error(), 300)
		if len(w.mistakes) < maxBeatMistakes && !slices.Contains(w.mistakes, text) {
			w.mistakes = append(w.mistakes, text)
			w.log.Print(text)
		}
	}
}

func (w *watcher) lookAtContainer() {
	now := w.clock.Now()
	used := w.container.usage(now)
	all, ok := w.container.processes()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.usedBefore = w.used; w.used.at.IsZero() {
		w.usedBefore = used
	}
	w.used = used
	if ok {
		w.processes = w.processes.next(now, all)
	} else {
		w.processes = processStates{}
	}
}

// beat is what to post now.
func (w *watcher) beat() checkpoint.Beat {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	b := w.progress.beat(now)
	b.Attempt = w.opts.attempt
	w.used.rates(w.usedBefore, &b)
	w.processes.put(now, &b)
	return b
}

// post posts beats until the context ends.
func (w *watcher) post(ctx context.Context) {
	url, err := reportclient.BeatURL(w.opts.server.url)
	if err != nil {
		w.log.Printf("posting beats: %v", err)
		return
	}
	client := w.opts.server.client()
	client.URL = url
	beater := &reportclient.Beater{
		Post: client.PostBeat, Beat: w.beat, After: w.clock.After,
		OnError: func(err error) {
			if err != nil {
				w.log.Printf("posting a beat: %v: trying again", err)
			} else {
				w.log.Printf("beats arrive again")
			}
		},
	}
	beater.Run(ctx)
}

// beatFileNames returns the names of a beat file and of those of local processes, NAME.0 to NAME.1023, that
// are in its directory.
func beatFileNames(path string) []string {
	if path == "" {
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxStatusFiles)
	base := filepath.Base(path)
	names = slices.DeleteFunc(names, func(name string) bool {
		number, ok := strings.CutPrefix(name, base+".")
		n, err := strconv.ParseUint(number, 10, 10)
		return name != base && (!ok || err != nil || strconv.FormatUint(n, 10) != number)
	})
	slices.Sort(names)
	return names[:min(len(names), maxBeatFiles)]
}

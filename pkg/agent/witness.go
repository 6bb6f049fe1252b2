package agent

import (
	"bytes"
	"cmp"
	"context"
	"log"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal/trace"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

const (
	// witnessPoll is how often a rehearsal's files are looked at, and its processes while they load or save.
	witnessPoll = 20 * time.Millisecond
	// slowPoll is how often the processes are looked at otherwise.
	slowPoll = time.Second
	fastTime = 10 * time.Minute
	// tracePoll is how often a trace is written, and those of others are read.
	tracePoll = time.Second
	// shareOfTime is how many times as long as a look took the next one waits at least.
	shareOfTime = 9
)

// witness records what the trainer does in a rehearsal. It only reads, and no error of it affects the
// trainer. Each of its loops reads something that may hang, so none waits for another.
type witness struct {
	opts      *options
	state     *state
	clock     clock
	log       *log.Logger
	container container
	// started is when the trainer started.
	started time.Time
	// bases are the paths of the checkpoint directory, also without links.
	bases []string
	// resume is the path of the resume point below the checkpoint directory. No path lies below "\x00".
	resume string

	mu       sync.Mutex
	recorder *trace.Recorder
	// status is the last one; text is its file's.
	status *checkpoint.Status
	// others are the traces that other agents wrote, and this agent's of earlier attempts.
	others []checkpoint.Trace
	// saves were on the volume before the trainer saved. nil: not known yet.
	saves []checkpoint.Found
	// read are the files below the checkpoint directory that the trainer was seen to read before its first
	// step.
	read map[string]bool
	// counted are the saves of this attempt that became complete, by path and step.
	counted map[savedStep]bool
	// nextProcesses is when the processes are looked at next, if nothing happens.
	nextProcesses time.Time
	// busyUntil is until when the processes are looked at often.
	busyUntil time.Time
	// written: the trace on the volume is up to date.
	written bool
	// requestedAt is when the request to save and exit reached the trainer, and stoppedAt when SIGTERM came.
	requestedAt, stoppedAt time.Time

	watch saveWatch

	// looking and exchanging are held during looks at the directory and at traces; they may hang.
	looking, exchanging sync.Mutex
	known               traceCache
}

type savedStep struct {
	path string
	step int64
}

func newWitness(o *options, s *state, c clock, l *log.Logger) *witness {
	w := &witness{
		opts: o, state: s, clock: c, log: l, container: ownContainer(), started: c.Now(),
		recorder: trace.NewRecorder(o.attempt, int32(o.rank)),
		read:     map[string]bool{}, counted: map[savedStep]bool{}, known: traceCache{},
		resume: cmp.Or(o.pathOf(o.pinned), "\x00"),
	}
	if o.base != "" {
		w.bases = []string{o.base}
		if real, err := filepath.EvalSymlinks(o.base); err == nil && real != o.base {
			w.bases = append(w.bases, real)
		}
	}
	return w
}

// run starts the loops, which end with the context.
func (w *witness) run(ctx context.Context) {
	go w.followFiles(ctx)
	go w.repeat(ctx, w.lookAtProcesses)
	if w.opts.base == "" {
		return
	}
	savesPoll, tracesPoll := witnessPoll, tracePoll
	if w.opts.rank >= trace.ComparedRanks { // a gang of thousands shares the volume
		savesPoll, tracesPoll = slowPoll, 10*tracePoll
	} else if w.opts.rank > 0 {
		savesPoll = 5 * witnessPoll
	}
	go func() {
		w.lookBefore()
		w.repeat(ctx, func() time.Duration { w.exchangeTraces(false); return tracesPoll })
	}()
	go w.repeat(ctx, func() time.Duration {
		if w.lookAtSaves() {
			w.setBusy()
		}
		return savesPoll
	})
}

// followFiles looks at the trainer's files until the context ends. They are local and small, so that each
// look is cheap, and a look that is left out is a step that cannot be compared.
func (w *witness) followFiles(ctx context.Context) {
	for {
		w.lookAtFiles()
		select {
		case <-ctx.Done():
			return
		case <-w.clock.After(witnessPoll):
		}
	}
}

// repeat looks until the context ends, and spends a tenth of the time on it.
func (w *witness) repeat(ctx context.Context, look func() time.Duration) {
	for {
		began := w.clock.Now()
		wait := look()
		took := w.clock.Now().Sub(began)
		select {
		case <-ctx.Done():
			return
		case <-w.clock.After(max(wait, min(shareOfTime*took, time.Minute))):
		}
	}
}

// finish looks once more after the trainer's end. It may hang as long as the volume does.
func (w *witness) finish() {
	w.lookAtFiles()
	if w.opts.base != "" {
		w.exchangeTraces(true)
	}
}

// setRequested records that the trainer got the request to save and exit.
func (w *witness) setRequested() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requestedAt.IsZero() {
		w.requestedAt = w.clock.Now()
	}
}

// setStopped records the first SIGTERM.
func (w *witness) setStopped() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stoppedAt.IsZero() {
		w.stoppedAt = w.clock.Now()
	}
}

// setExit records how the trainer ended, and whether it had its grace to carry out the request. The next
// attempt's agent reports both, if the operator is away now.
func (w *witness) setExit(code int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.recorder.Trace
	t.ExitCode, w.written = &code, false
	inTime := w.stoppedAt.IsZero() || w.stoppedAt.Sub(w.requestedAt) >= w.opts.grace
	t.Requested = !w.requestedAt.IsZero() && inTime
}

// lookAtFiles reads the status file; of another rank than 0 that writes none, the beat files.
func (w *witness) lookAtFiles() {
	status := w.state.kubeflowStatus()
	if w.opts.statusFile != "" {
		if data, err := readBounded(w.opts.statusFile, checkpoint.MaxStatusBytes); err == nil {
			if s, err := checkpoint.ParseStatus(data); err == nil { // otherwise it may be half written
				status = s
			}
		}
	}
	now := w.clock.Now()
	if status != nil {
		w.takeStatus(now, status)
	} else if line, ok := w.readBeat(); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.status == nil && w.recorder.Add(now.Sub(w.started), trace.Look{Step: *line.Step, Phase: line.Phase}) {
			w.written = false
		}
	}
}

func (w *witness) takeStatus(now time.Time, status *checkpoint.Status) {
	saves := status.Phase == checkpoint.PhaseSaving ||
		status.Checkpoint != nil && status.Checkpoint.State == checkpoint.SaveSaving
	loaded, other := w.reportedLoad(status.Loaded)
	look := trace.LookAt(status)
	if w.opts.rank >= trace.ComparedRanks {
		look.Loss, look.Batch = "", ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if saves {
		w.busyUntil = now.Add(slowPoll)
	}
	t := &w.recorder.Trace
	news := w.recorder.Add(now.Sub(w.started), look)
	if loaded && !t.Loaded || other != "" && t.LoadedOther == "" {
		t.Loaded, t.LoadedOther, news = t.Loaded || loaded, cmp.Or(t.LoadedOther, other), true
	}
	w.status, w.written = status, w.written && !news
}

// readBeat returns the beat of the process with the lowest step.
func (w *witness) readBeat() (lowest checkpoint.BeatLine, ok bool) {
	for _, name := range beatFileNames(w.opts.beatFile) {
		path := filepath.Join(filepath.Dir(w.opts.beatFile), name)
		data, err := readBounded(path, checkpoint.MaxBeatLineBytes)
		if err != nil {
			continue
		}
		first, _, _ := bytes.Cut(data, []byte("\n"))
		line, err := checkpoint.ParseBeatLine(first)
		if err == nil && line.Step != nil && (!ok || *line.Step < *lowest.Step) {
			lowest, ok = line, true
		}
	}
	return lowest, ok
}

// reportedLoad compares what the trainer reports to have loaded with the resume point. A directory above the
// resume point is neither.
func (w *witness) reportedLoad(loaded string) (isResume bool, other string) {
	pinned := w.opts.pinned
	switch {
	case loaded == "":
		return false, ""
	case pinned != "" && (loaded == pinned || strings.HasPrefix(loaded, pinned+"/")):
		return true, ""
	}
	path := w.opts.pathOf(loaded)
	switch {
	case w.opts.base == "" || path == "":
		return false, checkpoint.Printable(loaded, maxPathText)
	case isBelow(path, w.resume):
		return true, ""
	case isBelow(w.resume, path):
		return false, ""
	}
	return false, w.pathText(path)
}

// pathText is how a path below the checkpoint directory is reported.
func (w *witness) pathText(rel string) string {
	return checkpoint.Printable(filepath.Join(w.opts.base, rel), maxPathText)
}

// relative returns the path below the checkpoint directory, in slashes.
func (w *witness) relative(path string) (string, bool) {
	for _, base := range w.bases {
		if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(base, "/")+"/"); ok {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

func (w *witness) setBusy() {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busyUntil = now.Add(slowPoll)
}

// isFast reports whether the processes are looked at often: until the first step, while the trainer saves,
// and while rank 0 has seen no complete save. A rank that never reports a step is looked at often for
// fastTime.
func (w *witness) isFast(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.recorder.Trace
	return now.Before(w.busyUntil) || t.FirstStep == nil && now.Sub(w.started) < fastTime ||
		w.opts.rank == 0 && t.Saves == 0
}

// evidence is what to report now.
func (w *witness) evidence() []checkpoint.Evidence {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.recorder.Trace
	own.Steps = slices.Clone(own.Steps)
	return trace.Latest(append(slices.Clip(w.others), own), w.opts.attempt)
}

// reportEvidence adds the evidence to each report.
func (w *witness) reportEvidence(reporter *reportclient.Reporter) {
	report := reporter.Report
	reporter.Report = func() checkpoint.Report {
		r := report()
		w.addEvidence(&r)
		return r
	}
}

// addEvidence adds the evidence to a report, as far as a report has room for it: that of this attempt first.
func (w *witness) addEvidence(r *checkpoint.Report) {
	r.Rehearsal = w.evidence()
	for len(r.Rehearsal) > 0 {
		data, err := checkpoint.Encode(*r)
		if err == nil && len(data) <= checkpoint.MaxReportBytes {
			return
		}
		r.Rehearsal = r.Rehearsal[1:]
	}
	r.Rehearsal = nil
}

package agent

import (
	"maps"
	"math"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// windowSize is how many step times a median is of.
	windowSize = 32
	// leftBehind is after how many looks with progress of other processes the file of a process that shows none
	// no longer counts: the process has ended, and fewer were started again.
	leftBehind = 60
)

// progress is what the looks at a trainer's files have shown so far. It is pure: the caller passes the time.
type progress struct {
	started time.Time
	// last is when there was progress. Before the first one it is when the trainer started.
	last time.Time
	// files are the beat files by their name.
	files map[string]*progressFile
	// status is the status file, or what the trainer reports by Kubeflow's protocol.
	status progressFile
	// firstStep is the time to the first finished step, 0 before it.
	firstStep    time.Duration
	longestPause time.Duration
	// labels: a file has named Evaluating or Waiting.
	labels bool
}

// progressFile is a file in which a process shows its progress.
type progressFile struct {
	text string
	line checkpoint.BeatLine
	// hasText: a text without a step was there.
	hasText bool
	// highest step that was finished; nil: none.
	highest *int64
	// stepAt is when line's step was seen first. broken: the time since then is not of steps alone.
	stepAt time.Time
	broken bool
	// missed looks in which other processes made progress.
	missed      int
	steps, busy window
}

// window holds the last numbers of a kind.
type window []float64

func (w *window) add(x float64) {
	if *w = append(*w, x); len(*w) > windowSize {
		*w = slices.Delete(*w, 0, 1)
	}
}

// median of the window; 0 if it is empty.
func (w window) median() float64 {
	if len(w) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(w))
	return sorted[len(sorted)/2]
}

// look is what a trainer's files hold at a moment.
type look struct {
	// beats are the first lines of the beat files by their name.
	beats  map[string]string
	status *checkpoint.Status
}

func newProgress(now time.Time) *progress {
	return &progress{started: now, last: now, files: map[string]*progressFile{}}
}

// add takes a look into account. It returns the first mistake in a beat file.
func (p *progress) add(now time.Time, l look) (wrong error) {
	phase := p.phase()
	moved, stepped, beaten := false, false, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.beats)) {
		f := p.files[name]
		if f == nil {
			f = &progressFile{}
			p.files[name] = f
		}
		line, err := checkpoint.ParseBeatLine([]byte(l.beats[name]))
		if err != nil && wrong == nil {
			wrong = err
		}
		m, s := f.take(now, l.beats[name], line, 0)
		beaten[name] = m
		moved, stepped = moved || m, stepped || s
	}
	for name, f := range p.files {
		switch {
		case beaten[name]:
			f.missed = 0
		case moved:
			f.missed++
		}
	}
	if l.status != nil {
		// What rank 0 writes at its start is the step of its resume point, which this trainer has not finished.
		line := checkpoint.BeatLine{Step: &l.status.Step, Phase: l.status.Phase, Busy: -1}
		m, s := p.status.take(now, "", line, l.status.Step)
		moved, stepped = moved || m, stepped || s
	}
	if moved {
		p.move(now, phase)
	}
	p.labels = p.labels || isLong(phase) || isLong(p.phase())
	if stepped && p.firstStep == 0 {
		p.firstStep = max(now.Sub(p.started), time.Millisecond)
	}
	return wrong
}

// move ends a pause. Those of phases with a limit of their own do not count.
func (p *progress) move(now time.Time, phase checkpoint.Phase) {
	if p.firstStep > 0 && !hasOwnLimit(phase) {
		p.longestPause = max(p.longestPause, now.Sub(p.last))
	}
	p.last = now
}

// take reads a line. moved: it shows progress. stepped: a step is finished. The first number in the file is
// finished if it is above begin.
func (f *progressFile) take(
	now time.Time, text string, line checkpoint.BeatLine, begin int64,
) (moved, stepped bool) {
	before := f.line
	isNew := text != f.text
	f.text = text
	if line.Step == nil {
		if before.Step != nil {
			return false, false // once there were numbers, only these count
		}
		stepped = isNew && f.hasText
		f.line, f.hasText = line, text != ""
		return isNew, stepped
	}
	f.line = line
	if before.Step != nil {
		begin = *before.Step
	}
	stepped = *line.Step > begin && line.Phase != checkpoint.PhaseStarting
	if stepped && (f.highest == nil || *f.highest < *line.Step) {
		f.highest = line.Step
	}
	switch {
	case before.Step == nil || *line.Step < *before.Step: // the trainer starts again in its pod
		moved = before.Step == nil || line.Phase != before.Phase
		f.stepAt, f.broken = now, hasOwnLimit(line.Phase)
	case *line.Step > *before.Step:
		if !f.broken {
			f.measure(now, before)
		}
		moved = true
		f.stepAt, f.broken = now, hasOwnLimit(line.Phase)
	case line.Phase != before.Phase:
		moved, f.broken = true, true
	}
	return moved, stepped
}

// measure adds the time per step, and of it what the process computed.
func (f *progressFile) measure(now time.Time, before checkpoint.BeatLine) {
	steps := float64(*f.line.Step - *before.Step)
	f.steps.add(now.Sub(f.stepAt).Seconds() / steps)
	if before.Busy >= 0 && f.line.Busy >= before.Busy {
		f.busy.add((f.line.Busy - before.Busy) / steps)
	}
}

// duration orders phases by how long they may last without a step.
func duration(p checkpoint.Phase) int {
	return slices.Index([]checkpoint.Phase{
		"", checkpoint.PhaseCompleted, checkpoint.PhaseTraining, checkpoint.PhaseStarting, checkpoint.PhaseSaving,
		checkpoint.PhaseEvaluating, checkpoint.PhaseWaiting,
	}, p)
}

// hasOwnLimit reports whether a phase lasts longer than a step.
func hasOwnLimit(p checkpoint.Phase) bool { return duration(p) > duration(checkpoint.PhaseTraining) }

// isLong reports whether a phase is one of those that last for the longest time.
func isLong(p checkpoint.Phase) bool { return duration(p) >= duration(checkpoint.PhaseEvaluating) }

// live are the beat files that count, by name.
func (p *progress) live() []*progressFile {
	var all []*progressFile
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if f := p.files[name]; f.missed < leftBehind {
			all = append(all, f)
		}
	}
	return all
}

// phase of the rank: of its processes' phases the one that may last longest, else that of the status file.
func (p *progress) phase() checkpoint.Phase {
	phase := checkpoint.Phase("")
	for _, f := range p.live() {
		if duration(f.line.Phase) > duration(phase) {
			phase = f.line.Phase
		}
	}
	if phase == "" || p.status.line.Phase == checkpoint.PhaseCompleted {
		return p.status.line.Phase
	}
	return phase
}

// beat is what the files show now.
func (p *progress) beat(now time.Time) checkpoint.Beat {
	b := checkpoint.Beat{
		Phase: p.phase(), Labels: p.labels, IdleSeconds: seconds(now.Sub(p.last).Seconds(), maxAge),
		LongestPauseSeconds: seconds(p.longestPause.Seconds(), maxAge),
		FirstStepSeconds:    seconds(p.firstStep.Seconds(), maxAge),
	}
	slowest, busiest := 0.0, 0.0
	for _, f := range p.live() {
		if f.highest != nil && (b.Step == nil || *f.highest < *b.Step) {
			b.Step, b.Where = f.highest, f.line.Where
		}
		slowest, busiest = max(slowest, f.steps.median()), max(busiest, f.busy.median())
	}
	if b.Step == nil {
		b.Step, slowest = p.status.highest, p.status.steps.median()
	}
	b.StepSeconds, b.BusySeconds = seconds(slowest, maxStepTime), seconds(busiest, maxStepTime)
	return b
}

// Bounds of a beat's numbers, as its rules have them.
const (
	maxAge      = 1e8
	maxStepTime = 1e6
)

// seconds rounds to microseconds, within bounds.
func seconds(s, most float64) float64 { return math.Round(min(max(s, 0), most)*1e6) / 1e6 }

package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Width of everything that the demo prints, unless the terminal is narrower.
const width = 80

// scene is all that the live table shows.
type scene struct {
	scheduler        string
	elapsed          time.Duration
	acts             []actLine
	world            *World
	operatorRestarts int
}

// actLine is one act in the list.
type actLine struct {
	title string
	state actState
	took  time.Duration
}

type actState int

const (
	actComing actState = iota
	actNow
	actOver
)

// render draws a scene as lines of at most columns characters: a longer one would wrap, and the redraw would miss it.
func (s scene) render(columns int) []string {
	used := s.world.Capacity() - s.world.Free()
	lines := []string{
		spread(fmt.Sprintf(" %s, %d nodes, %d of %d GPUs in use", s.scheduler, len(s.world.Nodes), used, s.world.Capacity()), clock(s.elapsed), columns),
		"",
	}
	for i, act := range s.acts {
		mark, took := "    ", ""
		switch act.state {
		case actNow:
			mark, took = " -> ", clock(act.took)
		case actOver:
			mark, took = " ok ", seconds(act.took)
		}
		lines = append(lines, spread(fmt.Sprintf("%s%d  %s", mark, i+1, act.title), took, columns))
	}
	lines = append(lines, "")
	lines = append(lines, jobTable(s.world)...)
	lines = append(lines, "")
	lines = append(lines, occupancy(s.world)...)
	if s.operatorRestarts > 0 {
		lines = append(lines, fmt.Sprintf(" Operator restarts: %d", s.operatorRestarts))
	}
	for i, line := range lines {
		lines[i] = clip(line, columns)
	}
	return lines
}

const jobFormat = " %-7s %-10s %-5s %4s  %-8s %7s %8s  %s"

// jobTable has a row for every job of the cast that was applied.
func jobTable(w *World) []string {
	lines := []string{fmt.Sprintf(jobFormat, "JOB", "PHASE", "GANG", "GPUS", "QUEUE", "ATTEMPT", "PROGRESS", "REASON")}
	for _, name := range cast() {
		j, ok := w.Jobs[name]
		if !ok {
			lines = append(lines, fmt.Sprintf(jobFormat, name, "-", "-", "-", "-", "-", "-", ""))
			continue
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf(jobFormat, name, dash(string(j.Phase)), dash(j.Gang), fmt.Sprint(j.GPUs),
			dash(j.Queue), fmt.Sprint(j.Attempt), progress(j), j.Reason), " "))
	}
	for _, name := range cast() {
		if text := training(w.Jobs[name]); text != "" {
			lines = append(lines, "", fmt.Sprintf(" %-7s %s", name, text+resuming(w.Jobs[name])))
		}
	}
	return lines
}

// progress in percent.
func progress(j JobState) string {
	if p := j.percent(); p >= 0 {
		return fmt.Sprintf("%d%%", p)
	}
	return "-"
}

// training says in numbers how far a job is; "" for one that says nothing of it.
func training(j JobState) string {
	if j.Progress == nil {
		return ""
	}
	text := fmt.Sprintf("step %d of %d", j.Progress.Step, j.Progress.Total)
	if j.Latest != nil {
		text += fmt.Sprintf(", checkpoint at %d", j.Latest.Step)
	}
	return text
}

// resuming says from what an attempt resumes, and what was lost before; "" for one that begins anew.
func resuming(j JobState) string {
	if j.ResumeFrom == nil {
		return ""
	}
	return fmt.Sprintf(", resumes at %d, %d steps lost", j.ResumeFrom.Step, j.Work.LostSteps)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// occupancy draws each node's GPUs as letters: the first of the job's name that holds it, a dot when it is free.
func occupancy(w *World) []string {
	line := " GPUs   "
	var lines []string
	for _, name := range w.NodeNames() {
		cell := " " + name + " " + gpuLetters(w, name)
		if utf8.RuneCountInString(line+cell) > width {
			lines, line = append(lines, line), " "+strings.Repeat(" ", 7)
		}
		line += cell
	}
	return append(lines, line)
}

func gpuLetters(w *World, node string) string {
	var letters strings.Builder
	for _, p := range w.sorted(func(p PodState) bool { return p.Node == node && p.Holds() }) {
		letter := "?"
		if p.Job != "" {
			letter = p.Job[:1]
		}
		letters.WriteString(strings.Repeat(letter, int(p.GPUs)))
	}
	if free := int(w.Nodes[node].GPUs) - letters.Len(); free > 0 {
		letters.WriteString(strings.Repeat(".", free))
	}
	return letters.String()
}

// spread puts left and right at the two ends of a line.
func spread(left, right string, columns int) string {
	room := columns - utf8.RuneCountInString(right)
	if right == "" {
		return left
	}
	left = clip(left, room-1)
	return left + strings.Repeat(" ", max(1, room-utf8.RuneCountInString(left))) + right
}

// clip cuts a line that is too long, and shows that it did.
func clip(line string, columns int) string {
	if columns < 1 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}

// clock shows a duration in whole seconds; the table is no stop-watch.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

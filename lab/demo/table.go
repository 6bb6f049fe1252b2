package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// frame is what the live table shows at one moment.
type frame struct {
	scheduler        string
	elapsed          time.Duration
	acts             []actLine
	state            *ClusterState
	operatorRestarts int
}

// actLine is one act in the list of acts.
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

// render draws a frame as lines of at most columns characters: a longer line would wrap, and the redraw
// would leave a part of it.
func (s frame) render(columns int) []string {
	used := s.state.TotalGPUs() - s.state.FreeGPUs()
	lines := []string{
		spread(fmt.Sprintf(" %s, %d nodes, %d of %d GPUs in use", s.scheduler, len(s.state.Nodes), used,
			s.state.TotalGPUs()), clock(s.elapsed), columns),
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
	lines = append(lines, jobTable(s.state)...)
	lines = append(lines, "")
	lines = append(lines, occupancy(s.state)...)
	if s.operatorRestarts > 0 {
		lines = append(lines, fmt.Sprintf(" Operator restarts: %d", s.operatorRestarts))
	}
	for i, line := range lines {
		lines[i] = clip(line, columns)
	}
	return lines
}

const jobFormat = " %-7s %-10s %-5s %4s  %-8s %7s %8s  %s"

// jobTable has a row for every job of the story.
func jobTable(state *ClusterState) []string {
	lines := []string{fmt.Sprintf(jobFormat, "JOB", "PHASE", "GANG", "GPUS", "QUEUE", "ATTEMPT", "PROGRESS",
		"REASON")}
	for _, name := range jobNames() {
		j, ok := state.Jobs[name]
		if !ok {
			lines = append(lines, fmt.Sprintf(jobFormat, name, "-", "-", "-", "-", "-", "-", ""))
			continue
		}
		lines = append(lines,
			strings.TrimRight(fmt.Sprintf(jobFormat, name, dash(string(j.Phase)), dash(j.Gang), fmt.Sprint(j.GPUs),
				dash(j.Queue), fmt.Sprint(j.Attempt), progress(j), j.Reason), " "))
	}
	for _, name := range jobNames() {
		if text := training(state.Jobs[name]); text != "" {
			lines = append(lines, "", fmt.Sprintf(" %-7s %s", name, text+resuming(state.Jobs[name])))
		}
	}
	return lines
}

// occupancy draws each node's GPUs as letters: the first letter of the job that holds a GPU, a dot for a
// free one.
func occupancy(state *ClusterState) []string {
	line := " GPUs   "
	var lines []string
	for _, name := range state.NodeNames() {
		cell := " " + name + " " + gpuLetters(state, name)
		if utf8.RuneCountInString(line+cell) > width {
			lines, line = append(lines, line), " "+strings.Repeat(" ", 7)
		}
		line += cell
	}
	return append(lines, line)
}

func gpuLetters(state *ClusterState, node string) string {
	var letters strings.Builder
	for _, p := range state.sorted(func(p PodState) bool { return p.Node == node && p.HoldsGPUs() }) {
		letter := "?"
		if p.Job != "" {
			letter = p.Job[:1]
		}
		letters.WriteString(strings.Repeat(letter, int(p.GPUs)))
	}
	if free := int(state.Nodes[node].GPUs) - letters.Len(); free > 0 {
		letters.WriteString(strings.Repeat(".", free))
	}
	return letters.String()
}

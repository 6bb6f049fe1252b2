package workload

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TraceOptions say how a trace is played.
type TraceOptions struct {
	// Nodes and GPUsPerNode of the cluster. Jobs that it cannot hold are left out.
	Nodes, GPUsPerNode int
	// Compress divides all times: with 1440 a day is a minute. At least 1 and at most 1e9; zero means 1.
	Compress float64
	// First and Rows are a window: of the rows that can be used, in the order of their submission, Rows from
	// First on, which is counted from 0. Zero Rows: all that follow.
	First, Rows int
	// MaxGangs bounds the gangs of the window: of more, that many are drawn by Seed, each row with the same
	// chance, so that arrivals keep their shape and become rarer. Zero: no bound.
	MaxGangs int
	Seed     uint64
	// Longest duration of a job in time of the trace, before compression: what is longer is cut to it. Zero: no
	// bound.
	Longest time.Duration
	// Checkpoint interval of every gang, in time of the trace; compressed to 100 ms at least. Zero: gangs never
	// save.
	Checkpoint time.Duration
}

// ReadTrace makes a workload of a CSV file with a header. name is the file's, for errors and for the
// workload's own name; it is not opened. The columns identify the layout; their order does not matter:
//
//	Muri     job_id, num_gpu, submit_time, duration (both in ms), iteration_time, and others; priority, if
//	         there, is 0 (normal) or 1 (low). Source: github.com/Rivendile/Muri, simulator/trace-data.
//	Chronus  job_id, num_gpu, submit_time, duration (both in minutes), best_effort: 0 (normal) or 1 (low), and
//	         others. Source: github.com/S-Lab-System-Group/ChronusArtifact, code/data/exp.
//	simple   job, ranks (or gpus: the same), submit_seconds, duration_seconds, and, optional, priority: low,
//	         normal, high, or empty for normal.
//
// Every rank has 1 GPU. The first gang of the window is submitted at 0. A gang is named job-<its id>, or
// line-<its line> where the id makes no DNS label of 40 characters. Empty lines and lines that begin with #
// are skipped; a byte order mark and CRLF are accepted.
//
// A row that cannot be used is left out and counted in Workload.LeftOut, one that is used otherwise than it
// says in Changed, both with their FirstLine. A file that cannot be used as a whole is an error that names
// the file, the line, the column if it is one, and what to do: without a header, with columns missing, twice
// or of two layouts, with a line over 64 KiB or over 2,000,000 rows, with no row that can be used, or with
// times over MaxTime even compressed.
func ReadTrace(r io.Reader, name string, o TraceOptions) (Workload, error) {
	if o.Compress == 0 {
		o.Compress = 1
	}
	if err := o.validate(); err != nil {
		return Workload{}, fmt.Errorf("playing %s: %w", name, err)
	}
	t := newTally()
	rows, of, err := readRows(r, name, o.Nodes*o.GPUsPerNode, t)
	if err != nil {
		return Workload{}, err
	}
	sortRows(rows)
	usable := len(rows)
	if rows = sample(window(rows, o, t), o, t); len(rows) == 0 {
		return Workload{}, fmt.Errorf("%s: none of its rows is played: %d can be used, and the window begins at "+
			"row %d: take another window, or mend the file%s", name, usable, o.First, t.reasons())
	}
	if len(rows) > MaxGangs {
		return Workload{}, fmt.Errorf("%s: %d rows are to be played, and at most %d can be: take a window, or "+
			"bound the gangs", name, len(rows), MaxGangs)
	}
	w := Workload{
		Name: labelOf(name), Nodes: o.Nodes, GPUsPerNode: o.GPUsPerNode, End: EndFinished,
		Question: fmt.Sprintf("How long do the jobs of %s wait, %g times as fast?", path.Base(name), o.Compress),
		LeftOut:  t.leftOut, Changed: t.changed, FirstLine: t.first,
	}
	if w.Gangs, err = gangsOf(rows, of, o, t); err != nil {
		return Workload{}, fmt.Errorf("%s:%w", name, err)
	}
	w.Cut = w.bound()
	if err := Validate(w); err != nil {
		return Workload{}, fmt.Errorf("playing %s: %w", name, err)
	}
	return w, nil
}

// validate what Validate cannot see in the workload, or would divide by.
func (o TraceOptions) validate() error {
	switch {
	case o.Nodes < 1 || o.Nodes > MaxNodes:
		return fmt.Errorf("the cluster has %d nodes: give it 1 to %d", o.Nodes, MaxNodes)
	case o.GPUsPerNode < 1 || o.GPUsPerNode > MaxGPUsPerNode:
		return fmt.Errorf("a node has %d GPUs: give it 1 to %d", o.GPUsPerNode, MaxGPUsPerNode)
	case !(o.Compress >= 1 && o.Compress <= 1e9): // not a number is neither
		return fmt.Errorf("the compression is %g: take a factor from 1 to 1e9", o.Compress)
	case o.First < 0 || o.Rows < 0:
		return fmt.Errorf("the window is %d rows from row %d: take numbers from 0 on", o.Rows, o.First)
	case o.MaxGangs < 0 || o.MaxGangs > MaxGangs:
		return fmt.Errorf("at most %d gangs are asked for: take a number from 0 to %d", o.MaxGangs, MaxGangs)
	case o.Longest < 0:
		return fmt.Errorf("the longest duration is %s: take 0s for no bound, or more", o.Longest)
	case o.Checkpoint < 0:
		return fmt.Errorf("the checkpoint interval is %s: take 0s for never, or more", o.Checkpoint)
	}
	return nil
}

// sortRows by their submission; rows of the same time keep the order of the file.
func sortRows(rows []row) {
	latest := 0.0
	for i, r := range rows {
		rows[i].late = r.submit < latest
		latest = max(latest, r.submit)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.submit, b.submit) })
}

// window of rows that are sorted.
func window(rows []row, o TraceOptions, t tally) []row {
	first := min(o.First, len(rows))
	end := len(rows)
	if o.Rows > 0 && o.Rows < end-first {
		end = first + o.Rows
	}
	for _, r := range slices.Concat(rows[:first], rows[end:]) {
		t.leave(LeftOutWindow, r.line)
	}
	return rows[first:end]
}

// sample o.MaxGangs rows of more.
func sample(rows []row, o TraceOptions, t tally) []row {
	if o.MaxGangs == 0 || len(rows) <= o.MaxGangs {
		return rows
	}
	drawn := make([]bool, len(rows))
	for _, i := range random(o.Seed).Perm(len(rows))[:o.MaxGangs] {
		drawn[i] = true
	}
	kept := make([]row, 0, o.MaxGangs)
	for i, r := range rows {
		if drawn[i] {
			kept = append(kept, r)
		} else {
			t.leave(LeftOutSample, r.line)
		}
	}
	return kept
}

// gangsOf rows that are sorted, of which there is at least one. A time over MaxTime is an error with line and
// column.
func gangsOf(rows []row, of layout, o TraceOptions, t tally) ([]Gang, error) {
	gangs := make([]Gang, 0, len(rows))
	for _, r := range rows {
		at, train := (r.submit-rows[0].submit)/o.Compress, r.duration/o.Compress
		if r.late {
			t.change(ChangedOrder, r.line)
		}
		if longest := o.Longest.Seconds(); longest > 0 && r.duration > longest {
			train = longest / o.Compress
			t.change(ChangedCap, r.line)
		}
		if at > MaxTime.Seconds() {
			return nil, fmt.Errorf("%d: %s: is %.0f h after the first gang: compress by more than %g, or take a "+
				"smaller window", r.line, of.submit, at/3600, o.Compress)
		}
		if train > MaxTime.Seconds() {
			return nil, fmt.Errorf("%d: %s: is %.0f h: compress by more than %g, or bound the longest duration",
				r.line, of.duration, train/3600, o.Compress)
		}
		g := ranks(r.ranks)
		g.Name, g.Priority = gangName(r), r.priority
		g.At, g.Train, g.Checkpoint = seconds(at), seconds(train), o.checkpoint()
		if g.Train < minTrain {
			g.Train = minTrain
			t.change(ChangedShort, r.line)
		}
		gangs = append(gangs, g)
	}
	slices.SortFunc(gangs, byArrival)
	return gangs, nil
}

// checkpoint interval of a gang, compressed as far as makes sense.
func (o TraceOptions) checkpoint() time.Duration {
	if o.Checkpoint == 0 {
		return 0
	}
	return max(minTrain, seconds(o.Checkpoint.Seconds()/o.Compress))
}

// gangName is unique: no two rows have the same id or line.
func gangName(r row) string {
	if name := "job-" + r.job; len(name) <= MaxGangName && len(validation.IsDNS1123Label(name)) == 0 {
		return name
	}
	return fmt.Sprintf("line-%d", r.line)
}

// reasons why rows were left out, in an error.
func (t tally) reasons() string {
	text := ""
	for _, reason := range slices.Sorted(maps.Keys(t.leftOut)) {
		text += fmt.Sprintf("; %d left out from line %d on: %s", t.leftOut[reason], t.first[reason], reason)
	}
	return text
}

// labelOf a file: its name in lower case, without folders and ending, as a DNS label.
func labelOf(file string) string {
	base := path.Base(file)
	label := regexp.MustCompile("[^a-z0-9]+").
		ReplaceAllString(strings.ToLower(strings.TrimSuffix(base, path.Ext(base))), "-")
	label = strings.Trim(label[:min(len(label), validation.DNS1123LabelMaxLength)], "-")
	return cmp.Or(label, "trace")
}

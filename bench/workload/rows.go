package workload

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Reasons for which a row of a trace is left out.
const (
	LeftOutColumns   = "not as many columns as the header"
	LeftOutNumber    = "a number that is none"
	LeftOutGPUs      = "no GPUs"
	LeftOutDuration  = "no duration"
	LeftOutPriority  = "an unknown priority"
	LeftOutDuplicate = "a job that was there before"
	LeftOutLarger    = "larger than the cluster"
	LeftOutWindow    = "outside the window"
	LeftOutSample    = "not among the gangs that were drawn"
)

// Reasons for which a row of a trace is changed.
const (
	ChangedOrder = "sorted by its time"
	ChangedCap   = "a duration over the longest"
	ChangedShort = "training for less than 100 ms"
)

const (
	// maxLine of a trace in bytes: a longer one is no trace.
	maxLine = 64 << 10
	// maxRows of a trace, which is held in memory.
	maxRows = 2_000_000
	// maxSeconds of a time in a trace, 300 years: beyond it a number is none.
	maxSeconds = 1e10
	// byteOrderMark that some editors write at the start of a file.
	byteOrderMark = "\ufeff"
)

// row of a trace that can be used.
type row struct {
	line, ranks      int
	job              string
	priority         Priority
	submit, duration float64 // seconds
	// late is true for a row that stands below one that was submitted after it.
	late bool
}

// tally of rows by reason, with the first line of each.
type tally struct{ leftOut, changed, first map[string]int }

func newTally() tally {
	return tally{leftOut: map[string]int{}, changed: map[string]int{}, first: map[string]int{}}
}

func (t tally) leave(reason string, line int)  { t.count(t.leftOut, reason, line) }
func (t tally) change(reason string, line int) { t.count(t.changed, reason, line) }

func (t tally) count(of map[string]int, reason string, line int) {
	if first, ok := t.first[reason]; !ok || line < first {
		t.first[reason] = line
	}
	of[reason]++
}

// readRows reads a header and the rows that can be used on a cluster of so many GPUs, in the order of the
// file, and tallies the others. An error names file and line.
func readRows(r io.Reader, name string, gpus int, t tally) ([]row, layout, error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	var of columns // with a count from the header on
	var rows []row
	seen, line, all := map[string]bool{}, 0, 0
	for scan.Scan() {
		line++
		text := scan.Text()
		if line == 1 {
			text = strings.TrimPrefix(text, byteOrderMark)
		}
		if strings.TrimSpace(text) == "" || text[0] == '#' {
			continue
		}
		fields, err := split(text)
		if of.count == 0 {
			if err != nil {
				err = headerError{"header", "it is no CSV: give the names of the columns, with commas between them"}
			} else {
				of, err = findColumns(fields)
			}
			if err != nil {
				return nil, of.layout, fmt.Errorf("%s:%d: %w", name, line, err)
			}
			continue
		}
		if all++; all > maxRows {
			return nil, of.layout, fmt.Errorf("%s:%d: more than %d rows: cut the file", name, line, maxRows)
		}
		got, why := of.parse(fields, err, gpus)
		if why == "" && seen[got.job] {
			why = LeftOutDuplicate
		}
		if why != "" {
			t.leave(why, line)
			continue
		}
		got.line, seen[got.job] = line, got.job != ""
		rows = append(rows, got)
	}
	return rows, of.layout, readError(scan.Err(), name, line, of.count > 0)
}

// split a line into its fields. A quoted field ends on its line, so that an open quote costs one row. A
// csv.Reader allocates 4 KiB, which is a lot for each line of a trace, and only quotes need it.
func split(line string) ([]string, error) {
	if !strings.Contains(line, `"`) {
		return strings.Split(line, ","), nil
	}
	return csv.NewReader(strings.NewReader(line)).Read()
}

// readError of a file that was read up to a line.
func readError(err error, name string, line int, header bool) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: the line has more than %d bytes: give a CSV file with a row for each job",
			name, line+1, maxLine)
	case err != nil:
		return fmt.Errorf("reading %s after line %d: %w", name, line, err)
	case !header:
		return fmt.Errorf("%s:%d: the file is empty: give it a header and a row for each job", name, max(line, 1))
	}
	return nil
}

// parse the fields of a row, or say why it cannot be used.
func (c columns) parse(fields []string, err error, gpus int) (row, string) {
	if err != nil || len(fields) != c.count {
		return row{}, LeftOutColumns
	}
	ranks, okRanks := number(fields[c.ranksAt], 1)
	submit, okSubmit := number(fields[c.submitAt], c.unit)
	duration, okDuration := number(fields[c.durationAt], c.unit)
	priority, known := PriorityNormal, true
	if c.classAt >= 0 {
		priority, known = c.priorities[strings.ToLower(strings.TrimSpace(fields[c.classAt]))]
	}
	switch {
	case !okRanks || !okSubmit || !okDuration || ranks != math.Trunc(ranks):
		return row{}, LeftOutNumber
	case ranks == 0:
		return row{}, LeftOutGPUs
	case duration == 0:
		return row{}, LeftOutDuration
	case !known:
		return row{}, LeftOutPriority
	case ranks > float64(gpus):
		return row{}, LeftOutLarger
	}
	return row{
		ranks: int(ranks), job: strings.TrimSpace(fields[c.jobAt]), priority: priority, submit: submit,
		duration: duration,
	}, ""
}

// number that is not negative and, in units, at most maxSeconds.
func number(text string, unit float64) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	n *= unit
	return n, err == nil && n >= 0 && n <= maxSeconds // not a number is neither
}

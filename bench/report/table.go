package report

import (
	"cmp"
	"fmt"

	"mlplatform.example.com/trainingjob-operator/bench/stats"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// column of a table by stack: the median of a measure over the runs of each.
type column struct {
	// name with its unit, and, where that says too little outside of its table, a longer one.
	name string
	of   measure
	show func(stats.Bounds) string
	long string
}

// table of one row a stack.
type table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// dropped are the names of columns that say nothing in a workload.
type dropped struct {
	// Zero on every stack, and Nothing known on any.
	Zero, Nothing []string
}

// tables of a workload that mean something in it.
func (p played) tables() ([]table, dropped) {
	var all []table
	var without dropped
	for _, t := range []struct {
		title   string
		columns []column
	}{
		{"Gangs", gangColumns()},
		{"GPUs", gpuColumns()},
		{"Queue delay by priority", queueColumns()},
		{"Interruptions", interruptionColumns()},
	} {
		if built := p.table(t.title, t.columns, &without); built != nil {
			all = append(all, *built)
		}
	}
	return all, without
}

// table has the number of runs, always, and those of the columns that say something; nil when there is none.
func (p played) table(title string, columns []column, without *dropped) *table {
	t := table{Title: title, Head: []string{"stack", "n"}}
	for _, s := range p.stacks {
		t.Rows = append(t.Rows, []string{s.Name, fmt.Sprint(len(s.runs))})
	}
	for _, c := range columns {
		var cells []string
		known, zero := false, true
		for _, s := range p.stacks {
			value := s.over(p.Workload, c.of)
			known = known || value.Known()
			zero = zero && (!value.Known() || value == stats.Exactly(0))
			cells = append(cells, c.show(value))
		}
		switch {
		case !known:
			without.Nothing = append(without.Nothing, cmp.Or(c.long, c.name))
		case zero:
			without.Zero = append(without.Zero, cmp.Or(c.long, c.name))
		default:
			t.Head = append(t.Head, c.name)
			for i, cell := range cells {
				t.Rows[i] = append(t.Rows[i], cell)
			}
		}
	}
	if len(t.Head) == 2 {
		return nil
	}
	return &t
}

func gangColumns() []column {
	return []column{
		{name: "all ranks bound p50 (s)", of: untilBound(0.5), show: within},
		{name: "all ranks bound p99 (s)", of: untilBound(0.99), show: within},
		{name: "gangs per second", of: gangsPerSecond, show: amount},
		{name: "makespan (s)", of: makespan, show: amount},
		{name: "job completion p50 (s)", of: completion(0.5), show: within},
		{name: "job completion p99 (s)", of: completion(0.99), show: within},
	}
}

func gpuColumns() []column {
	return []column{
		{name: "GPU use", of: ofOffered(busy), show: percent},
		{name: "goodput", of: ofOffered(useful), show: percent},
		{name: "held by incomplete gangs (GPU-s)", of: count(heldIncomplete), show: amount},
		{name: "inversions", of: count(inversions), show: amount},
	}
}

func queueColumns() []column {
	var columns []column
	for _, p := range priorities {
		for _, q := range []float64{0.5, 0.99} {
			name := fmt.Sprintf("%s p%.0f (s)", p, 100*q)
			columns = append(columns, column{
				name: name, of: queueDelay(q, p), show: within, long: "queue delay of priority " + name,
			})
		}
	}
	return columns
}

func interruptionColumns() []column {
	return []column{
		{name: "interruptions", of: count(interruptions), show: amount},
		{name: "lost work (GPU-s)", of: count(lost), show: amount},
		{name: "time to resume p50 (s)", of: resume(0.5), show: within},
		{name: "time to resume p99 (s)", of: resume(0.99), show: within},
	}
}

// priorities from the highest.
var priorities = []workload.Priority{workload.PriorityHigh, workload.PriorityNormal, workload.PriorityLow}

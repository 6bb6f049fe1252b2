package report

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/bench/stats"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// column of a table by stack: the median of a measure over the runs of each.
type column struct {
	// name with its unit.
	name string
	of   measure
	show func(stats.Bounds) string
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
			without.Nothing = append(without.Nothing, c.name)
		case zero:
			without.Zero = append(without.Zero, c.name)
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
		{"all ranks bound p50 (s)", untilBound(0.5), within},
		{"all ranks bound p99 (s)", untilBound(0.99), within},
		{"gangs per second", gangsPerSecond, amount},
		{"makespan (s)", makespan, amount},
		{"job completion p50 (s)", completion(0.5), within},
		{"job completion p99 (s)", completion(0.99), within},
	}
}

func gpuColumns() []column {
	return []column{
		{"GPU use", ofOffered(busy), percent},
		{"goodput", ofOffered(useful), percent},
		{"held by incomplete gangs (GPU-s)", count(heldIncomplete), amount},
		{"inversions", count(inversions), amount},
	}
}

func queueColumns() []column {
	var columns []column
	for _, p := range priorities {
		for _, q := range []float64{0.5, 0.99} {
			name := fmt.Sprintf("%s p%.0f (s)", p, 100*q)
			columns = append(columns, column{name, queueDelay(q, p), within})
		}
	}
	return columns
}

func interruptionColumns() []column {
	return []column{
		{"interruptions", count(interruptions), amount},
		{"lost work (GPU-s)", count(lost), amount},
		{"time to resume p50 (s)", resume(0.5), within},
		{"time to resume p99 (s)", resume(0.99), within},
	}
}

// priorities from the highest.
var priorities = []workload.Priority{workload.PriorityHigh, workload.PriorityNormal, workload.PriorityLow}

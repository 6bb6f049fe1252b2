package workload

import (
	"fmt"
	"slices"
	"strings"
)

// layout of a trace: the names of its columns and the unit of its times.
type layout struct {
	// title for errors.
	title string
	// marker is a column that no other layout has; without it a file is of the simple layout.
	marker                       string
	job, ranks, submit, duration string
	// unit of submit and duration, in seconds.
	unit float64
	// class is the optional column from which the priority comes; without it all gangs are normal.
	class string
	// priorities by what class says.
	priorities map[string]Priority
}

// layouts that are known. Of the first, duration is iterations times iteration_time, in ms. The unit of the
// second is documented nowhere and inferred: its times of submission span 14 days in minutes.
func layouts() []layout {
	return []layout{{
		title: "Muri", marker: "iteration_time", unit: 0.001,
		job: "job_id", ranks: "num_gpu", submit: "submit_time", duration: "duration",
		// 0 has a guarantee of resources, 1 takes what is left.
		class: "priority", priorities: map[string]Priority{"0": PriorityNormal, "1": PriorityLow},
	}, {
		title: "Chronus", marker: "best_effort", unit: 60,
		job: "job_id", ranks: "num_gpu", submit: "submit_time", duration: "duration",
		// 0 has a deadline, 1 takes what is left.
		class: "best_effort", priorities: map[string]Priority{"0": PriorityNormal, "1": PriorityLow},
	}, {
		title: "simple", marker: "submit_seconds", unit: 1,
		job: "job", ranks: "ranks", submit: "submit_seconds", duration: "duration_seconds",
		class: "priority", priorities: map[string]Priority{
			"": PriorityNormal, "low": PriorityLow, "normal": PriorityNormal, "high": PriorityHigh,
		},
	}}
}

// columns of a file: the layout, and where each column of it is. class is -1 where there is none.
type columns struct {
	layout
	count                             int
	jobAt, ranksAt, submitAt, classAt int
	durationAt                        int
}

// headerError is what is wrong with one column of the header, and what to do.
type headerError struct{ column, remedy string }

func (e headerError) Error() string { return e.column + ": " + e.remedy }

// findColumns by the names in a header. Case and surrounding spaces do not count, nor do columns of other
// names.
func findColumns(header []string) (columns, error) {
	at := map[string]int{}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		if _, twice := at[name]; twice && name != "" {
			return columns{}, headerError{name, "the column is there twice: rename one"}
		}
		at[name] = i
	}
	l, err := findLayout(at)
	if err != nil {
		return columns{}, err
	}
	if l.title == "simple" {
		if l.ranks, err = ranksColumn(at); err != nil {
			return columns{}, err
		}
	}
	needed := []string{l.job, l.ranks, l.submit, l.duration}
	for _, name := range needed {
		if _, ok := at[name]; !ok {
			return columns{}, headerError{name, missing(l, needed)}
		}
	}
	c := columns{
		layout: l, count: len(header), jobAt: at[l.job], ranksAt: at[l.ranks], submitAt: at[l.submit],
		durationAt: at[l.duration], classAt: -1,
	}
	if i, ok := at[l.class]; ok {
		c.classAt = i
	}
	return c, nil
}

func findLayout(at map[string]int) (layout, error) {
	all := layouts()
	var found []layout
	for _, l := range all {
		if _, ok := at[l.marker]; ok {
			found = append(found, l)
		}
	}
	switch len(found) {
	case 0:
		return all[len(all)-1], nil
	case 1:
		return found[0], nil
	}
	return layout{}, headerError{found[1].marker, fmt.Sprintf(
		"only the %s layout has this column, and only the %s layout has %s: remove one",
		found[1].title, found[0].title, found[0].marker)}
}

// ranksColumn of the simple layout: a rank has one GPU, so both names mean the same.
func ranksColumn(at map[string]int) (string, error) {
	_, ranks := at["ranks"]
	_, gpus := at["gpus"]
	switch {
	case ranks && gpus:
		return "", headerError{"gpus", "each rank has one GPU, so ranks says it already: remove one of the two"}
	case gpus:
		return "gpus", nil
	}
	return "ranks", nil
}

// missing describes the columns that a layout needs, and the columns that identify the other layouts.
func missing(l layout, needed []string) string {
	text := fmt.Sprintf("the column is missing: the %s layout needs %s", l.title, strings.Join(needed, ", "))
	for _, other := range slices.DeleteFunc(layouts(), func(o layout) bool { return o.title == l.title }) {
		text += fmt.Sprintf("; the column %s identifies the %s layout", other.marker, other.title)
	}
	return text
}

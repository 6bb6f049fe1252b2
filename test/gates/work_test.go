package gates

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// work is how often each block of the product's code ran, by file and position.
type work map[string]int

// readWork reads a coverage profile: after a line with its mode, lines of "file:from,to statements count".
func readWork(r io.Reader) (work, error) {
	w := work{}
	lines := bufio.NewScanner(r)
	for first := true; lines.Scan(); first = false {
		if first {
			if mode := strings.TrimPrefix(lines.Text(), "mode: "); mode != "atomic" && mode != "count" {
				return nil, fmt.Errorf("the mode of the profile is %q, which does not count", mode)
			}
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %q of the profile has %d fields, want 3", lines.Text(), len(fields))
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("reading line %q of the profile: %w", lines.Text(), err)
		}
		w[fields[0]] += n
	}
	if len(w) == 0 {
		return nil, errors.New("the profile is empty")
	}
	return w, lines.Err()
}

// growth of a block: how often it ran for each job, when there were few and when there were many.
type growth struct {
	block     string
	few, many float64
}

func (g growth) String() string {
	return fmt.Sprintf("%s ran %.1f times for each of few jobs, %.1f times for each of many",
		g.block, g.few, g.many)
}

// leastWork is how often a block must run for each job to count: below that one pass more or less decides.
const leastWork = 1

// nodes is the number of the cluster's nodes, whatever the number of jobs.
const nodes = 50

// steady is by how much the work for a job may differ between a few jobs and many: a gang that waits for
// others looks at the cluster more often. What is done for each of the others would grow with their number.
const steady = 5

// Jobs that wait in the same state of the cluster share what their explanations list; how many of them do is
// chance. Few jobs, in a cluster that soon stands still, may all share, and many on a busy machine none.
var (
	// listsJobs is the code that lists who holds GPUs and who waits. Each explanation of why a job waits needs
	// that, so it may look at every other job, a few times, but not at anything else for each of them.
	listsJobs = []string{
		"/scheduler/clusterstate.go:", "/scheduler/explain_quota.go:", "/scheduler/held.go:", "/pkg/clusterstate/",
	}
	// listsNodes is the code that looks at every node, a few times for each explanation.
	listsNodes = []string{"/scheduler/nodes.go:", "/scheduler/node_set.go:", "/scheduler/capacity.go:"}
)

// mayRun is how often a block may run for each of so many jobs, where it ran few times for each of few.
func mayRun(block string, few float64, jobs int) float64 {
	within := func(parts []string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(block, part) })
	}
	switch {
	case within(listsJobs):
		return steady * float64(jobs)
	case within(listsNodes):
		return steady * nodes
	}
	return steady * max(few, leastWork)
}

// growing are the blocks that ran more often for each job when there were many than they may, those that ran
// most first.
func growing(few, many work, fewJobs, manyJobs int) []growth {
	var all []growth
	for block, n := range many {
		g := growth{block, float64(few[block]) / float64(fewJobs), float64(n) / float64(manyJobs)}
		if g.many > leastWork && g.many > mayRun(block, g.few, manyJobs) {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b growth) int {
		return cmp.Or(cmp.Compare(b.many, a.many), cmp.Compare(a.block, b.block))
	})
	return all
}

func TestReadWork(t *testing.T) {
	const profile = "mode: atomic\na/b.go:3.14,5.2 2 7\na/b.go:6.1,7.2 1 0\n"
	w, err := readWork(strings.NewReader(profile))
	if err != nil || w["a/b.go:3.14,5.2"] != 7 || len(w) != 2 {
		t.Errorf("read %v, %v", w, err)
	}
	for _, bad := range []string{
		"", "mode: atomic\n", "mode: set\n", "mode: atomic\na b\n", "mode: atomic\na 1 x\n",
	} {
		if w, err := readWork(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, w)
		}
	}
}

func TestGrowing(t *testing.T) {
	const list, node = "/pkg/clusterstate/cluster.go:1,2", "/scheduler/nodes.go:1,2"
	few := work{
		"once a job": 100, "for all others": 100 * 100, "rarely": 2,
		list: 100 * 61, list + "3": 100 * 2500, node: 100, node + "3": 100,
	}
	many := work{
		"once a job": 1100, "for all others": 1000 * 1000, "rarely": 900, "new": 9000,
		list: 1000 * 1454, list + "3": 1000 * 49150, // as it was, holders by nodes
		node: 1000 * nodes, node + "3": 1000 * 1000,
	}
	var names []string
	for _, g := range growing(few, many, 100, 1000) {
		names = append(names, g.block)
	}
	if want := []string{list + "3", node + "3", "for all others", "new"}; !slices.Equal(names, want) {
		t.Errorf("growing are %q, want %q", names, want)
	}
}

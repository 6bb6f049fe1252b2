package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// descendants of this process that have not ended: their parents by their pids. Processes that have left
// their parents are its own children, since it is PID 1 or a subreaper. Nothing is known of any where /proc
// is missing.
func descendants() map[int]int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			parents[pid] = parent
		}
	}
	self, below := os.Getpid(), map[int]int{}
	for pid := range parents {
		if pid == self {
			continue
		}
		for up, seen := parents[pid], 0; up != 0 && seen <= len(parents); up, seen = parents[up], seen+1 {
			if up == self {
				below[pid] = parents[pid]
				break
			}
		}
	}
	return below
}

// parentOf returns the parent of a process that has not ended.
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// pid (name) state parent ...: a name may hold spaces and parentheses (proc(5)).
	_, rest, found := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	fields := bytes.Fields(rest)
	if !found || len(fields) < 2 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// rankVariables are what the processes of MPI have in their environment, and those that start them have not:
// Open MPI's up to 4.1 (OMPI_COMM_WORLD_RANK), Hydra's (PMI_RANK), and those of everything that speaks PMIx,
// as Open MPI does from 5.0. Seen with Open MPI 4.1.4 and MPICH 4.0.2.
var rankVariables = [][]byte{[]byte("OMPI_COMM_WORLD_RANK="), []byte("PMI_RANK="), []byte("PMIX_RANK=")}

// ranksOf a family are the processes that an implementation of MPI has started as its ranks, without what
// these have started themselves.
func ranksOf(family map[int]int) []int {
	marked := map[int]bool{}
	for pid := range family {
		marked[pid] = isRank(pid)
	}
	var ranks []int
	for pid, parent := range family {
		if marked[pid] && !marked[parent] {
			ranks = append(ranks, pid)
		}
	}
	slices.Sort(ranks)
	return ranks
}

func isRank(pid int) bool {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil { // it has ended, or is another user's
		return false
	}
	return slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(e []byte) bool {
		return slices.ContainsFunc(rankVariables, func(v []byte) bool { return bytes.HasPrefix(e, v) })
	})
}

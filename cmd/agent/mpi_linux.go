package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// hasSessions reports whether this process has descendants besides the server. Processes that have left their
// parents are its own children, since it is PID 1 or a subreaper.
func hasSessions(server int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false // nothing is known of any: the end of this container ends them
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
	self := os.Getpid()
	for pid := range parents {
		if pid == server || pid == self {
			continue
		}
		for up, seen := parents[pid], 0; up != 0 && seen <= len(parents); up, seen = parents[up], seen+1 {
			if up == self {
				return true
			}
		}
	}
	return false
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

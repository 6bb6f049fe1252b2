package agent

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	procRoot   = "/proc"
	cgroupRoot = "/sys/fs/cgroup"

	// maxProcesses bounds the processes that are looked at. With more of them their state is unknown.
	maxProcesses = 1024
	maxStatBytes = 4 << 10
	// maxUsageBytes bounds io.stat and net/dev, which have a line for each device.
	maxUsageBytes = 64 << 10
)

// container is where the agent reads what its own container does. It needs no rights for that.
type container struct {
	proc, cgroup string
	// agent is the process that the trainer's processes descend from, in the process group group.
	agent, group int
}

func ownContainer() container {
	return container{proc: procRoot, cgroup: cgroupRoot, agent: os.Getpid(), group: syscall.Getpgrp()}
}

// readSystemFile reads at most limit bytes of a file of the kernel; nil: it cannot be read.
func readSystemFile(path string, limit int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return data
}

// consumption is what the container has used up to a moment. Negative: unknown.
type consumption struct {
	at                       time.Time
	cpuMicros, disk, network float64
}

// usage reads the counters. Those of a container are in its cgroup, of version 2 only.
func (c container) usage(now time.Time) consumption {
	u := consumption{at: now, cpuMicros: -1, disk: -1, network: -1}
	if dir := c.cgroupDir(); dir != "" {
		u.cpuMicros = sumOf(readSystemFile(filepath.Join(dir, "cpu.stat"), maxUsageBytes), "usage_usec", " ")
		if data := readSystemFile(filepath.Join(dir, "io.stat"), maxUsageBytes); data != nil {
			read, written := sumOf(data, "rbytes", "="), sumOf(data, "wbytes", "=")
			u.disk = max(read, 0) + max(written, 0)
		}
	}
	if data := readSystemFile(filepath.Join(c.proc, "net/dev"), maxUsageBytes); data != nil {
		u.network = networkBytes(data)
	}
	return u
}

// cgroupDir returns the directory of the agent's cgroup of version 2; empty: it has none.
func (c container) cgroupDir() string {
	for line := range strings.Lines(string(readSystemFile(filepath.Join(c.proc, "self/cgroup"), maxStatBytes))) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if ok && (path == "" || filepath.IsLocal(path)) {
			return filepath.Join(c.cgroup, path)
		}
	}
	return ""
}

// sumOf adds the numbers with a name, in all lines; negative: there is none.
func sumOf(data []byte, name, separator string) float64 {
	sum := -1.0
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		words := []string{text}
		if separator != " " {
			words = strings.Fields(text)
		}
		for _, word := range words {
			if key, value, ok := strings.Cut(word, separator); ok && key == name {
				if n, err := strconv.ParseUint(value, 10, 64); err == nil {
					sum = max(sum, 0) + float64(n)
				}
			}
		}
	}
	return sum
}

// networkBytes adds what all interfaces but loopback have received and sent, as in proc_net_dev(5).
func networkBytes(data []byte) float64 {
	sum := 0.0
	for line := range bytes.Lines(data) {
		name, counters, ok := strings.Cut(string(line), ":")
		fields := strings.Fields(counters)
		if !ok || strings.TrimSpace(name) == "lo" || len(fields) < 9 {
			continue
		}
		for _, field := range []string{fields[0], fields[8]} { // received and transmitted bytes
			if n, err := strconv.ParseUint(field, 10, 64); err == nil {
				sum += float64(n)
			}
		}
	}
	return sum
}

// leastCPUs is the load of a container that does nothing. In a beat 0 is unknown.
const leastCPUs = 0.001

// rates puts what was used between two moments into a beat. Counters that are unknown or have become smaller
// are left out.
func (u consumption) rates(before consumption, b *checkpoint.Beat) {
	passed := u.at.Sub(before.at).Seconds()
	rate := func(now, then, most float64) (float64, bool) {
		if passed <= 0 || now < 0 || then < 0 || now < then {
			return 0, false
		}
		return min((now-then)/passed, most), true
	}
	if cpus, ok := rate(u.cpuMicros/1e6, before.cpuMicros/1e6, 1e5); ok {
		b.CPUs = seconds(max(cpus, leastCPUs), 1e5)
	}
	b.DiskBytesPerSecond, _ = rate(u.disk, before.disk, 1e15)
	b.NetworkBytesPerSecond, _ = rate(u.network, before.network, 1e15)
}

// process is what /proc/PID/stat has of a process.
type process struct {
	pid, parent, group int
	state              byte
	// ticks of CPU time since its start (of the first thread while that waits for a disk), and when that was, in
	// ticks since the boot.
	ticks, start uint64
}

// processes returns the trainer's processes: all that descend from the agent, without the agent's own. ok is
// false if they are unknown.
func (c container) processes() (trainers []process, ok bool) {
	f, err := os.Open(c.proc)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	names, err := f.Readdirnames(4 * maxProcesses) // without an order, so too many make it incomplete
	if err != nil || len(names) == 4*maxProcesses {
		return nil, false
	}
	children, count := map[int][]process{}, 0
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err != nil || pid == c.agent {
			continue
		}
		if count++; count > maxProcesses {
			return nil, false
		}
		// A process that has just ended has no file.
		p, ok := parseStat(readSystemFile(filepath.Join(c.proc, name, "stat"), maxStatBytes))
		if !ok {
			continue
		}
		if p.state == 'D' { // the state is the first thread's, so its own time counts: others may compute
			first := filepath.Join(c.proc, name, "task", name, "stat")
			if thread, ok := parseStat(readSystemFile(first, maxStatBytes)); ok {
				p.ticks = thread.ticks
			}
		}
		children[p.parent] = append(children[p.parent], p)
	}
	for _, child := range children[c.agent] {
		if child.group != c.group { // otherwise it is the agent's own, which reads volumes
			trainers = append(trainers, child)
		}
	}
	for i := 0; i < len(trainers) && len(trainers) <= count; i++ { // a false parent makes no endless loop
		trainers = append(trainers, children[trainers[i].pid]...)
	}
	return trainers, true
}

// parseStat reads /proc/PID/stat. The name in it is the process' own choice.
func parseStat(data []byte) (p process, ok bool) {
	end := bytes.LastIndexByte(data, ')')
	pid, _, found := strings.Cut(string(data), " ")
	if end < 0 || !found {
		return p, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 20 || len(fields[0]) != 1 {
		return p, false
	}
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 63)
		ok = ok && err == nil
		return n
	}
	ok = true
	// Fields as proc_pid_stat(5) counts them: 3 is the state, 22 the start.
	p = process{
		pid: int(number(pid)), parent: int(number(fields[1])), group: int(number(fields[2])), state: fields[0][0],
		ticks: number(fields[11]) + number(fields[12]), start: number(fields[19]),
	}
	return p, ok
}

// processStates is the state of the trainer's processes, and since when it holds.
type processStates struct {
	state checkpoint.ProcessState
	since time.Time
	// waiting are the processes that wait for a disk, with the time of the look that found them first.
	waiting map[process]time.Time
}

// next is the state at the next look. A process waits for the same disk operation as before if it has not
// computed since.
func (s processStates) next(now time.Time, all []process) processStates {
	n := processStates{since: now, waiting: map[process]time.Time{}}
	alive, stopped, runs := 0, 0, false
	waits := now
	for _, p := range all {
		switch p.state {
		case 'Z', 'X':
			continue
		case 'T', 't':
			stopped++
		case 'R':
			runs = true
		case 'D':
			since, ok := s.waiting[p]
			if !ok {
				since = now
			}
			n.waiting[p] = since
			if since.Before(waits) {
				waits = since
			}
		}
		alive++
	}
	switch {
	case alive == 0:
		return processStates{}
	case stopped == alive:
		n.state = checkpoint.ProcessStopped
	case len(n.waiting) > 0:
		n.state, n.since = checkpoint.ProcessWaitsDisk, waits
		return n
	case runs:
		n.state = checkpoint.ProcessRuns
	default:
		n.state = checkpoint.ProcessSleeps
	}
	if n.state == s.state {
		n.since = s.since
	}
	return n
}

// put adds the state to a beat.
func (s processStates) put(now time.Time, b *checkpoint.Beat) {
	if s.state != "" {
		b.State, b.StateSeconds = s.state, seconds(now.Sub(s.since).Seconds(), maxAge)
	}
}

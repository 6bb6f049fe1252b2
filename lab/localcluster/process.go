package localcluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one process of the cluster: how to start it, and, once it was
// started, which one it is. It is kept in the state file.
type process struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	Log  string   `json:"log"`
	// Ports that it listens on, each refused if taken before the start.
	Ports []int `json:"ports,omitempty"`
	// Health is the URL that answers 200 once the process does its work.
	Health string `json:"health"`
	// Etc is a folder that the process sees as /etc, and nobody else does: for
	// what has the path of its certificates built in. Empty: the machine's own.
	Etc string `json:"etc,omitempty"`
	// Separate gives it namespaces of its own for processes, mounts and network.
	// All that it starts ends with it.
	Separate bool `json:"separate,omitempty"`

	PID int `json:"pid,omitempty"`
	// StartTime is field 22 of /proc/<pid>/stat, in clock ticks since the boot.
	// A pid alone is no identity: it is given to somebody else once its process
	// has ended, and a signal would then hit a stranger.
	StartTime uint64    `json:"startTime,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Stopped   bool      `json:"stopped,omitempty"`
}

// alive reports whether this very process runs.
func (p process) alive() bool {
	if p.PID == 0 {
		return false
	}
	stat, err := readStat(p.PID)
	return err == nil && stat.startTime == p.StartTime && !stat.ended()
}

// signal sends a signal, to this process only.
func (p process) signal(s syscall.Signal) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signalling %s (pid %d): %w", p.Name, p.PID, err)
	}
	return nil
}

// takenPort is the first of its ports that somebody else listens on, or 0.
func (p process) takenPort() int {
	for _, port := range p.Ports {
		if !portFree(port) {
			return port
		}
	}
	return 0
}

// died describes an unexpected end, with the end of the log.
func (p process) died() error {
	return fmt.Errorf("%s has died; the end of %s:\n%s", p.Name, p.Log, logTail(p.Log))
}

// procStat is what identity needs of /proc/<pid>/stat.
type procStat struct {
	state     byte
	threads   int
	startTime uint64
}

// ended reports whether nothing is left but an entry for the parent to read: a
// zombie whose first thread is its last. While others are still ending, its
// ports are not free yet.
func (s procStat) ended() bool {
	return s.state == 'X' || s.state == 'Z' && s.threads <= 1
}

func readStat(pid int) (procStat, error) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(content)
}

// parseStat reads /proc/<pid>/stat (proc(5)): the second field, the command's
// name, is in parentheses and may itself hold spaces and parentheses.
func parseStat(content []byte) (procStat, error) {
	const stateField, threadsField, startTimeField = 3, 20, 22
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return procStat{}, errors.New("no command name in it")
	}
	fields := strings.Fields(string(content[end+1:])) // from the third on
	if len(fields) <= startTimeField-stateField {
		return procStat{}, fmt.Errorf("only %d fields in it", len(fields)+2)
	}
	threads, err := strconv.Atoi(fields[threadsField-stateField])
	if err != nil {
		return procStat{}, fmt.Errorf("reading the number of threads: %w", err)
	}
	start, err := strconv.ParseUint(fields[startTimeField-stateField], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("reading the start time: %w", err)
	}
	return procStat{state: fields[0][0], threads: threads, startTime: start}, nil
}

// logTail is the last lines of a log, or why there are none.
func logTail(path string) string {
	const enough = 16 << 10
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	content := make([]byte, min(info.Size(), enough))
	n, _ := file.ReadAt(content, info.Size()-int64(len(content)))
	lines := strings.Split(strings.TrimSpace(string(content[:n])), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

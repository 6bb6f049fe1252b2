package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// procStat is what identifies a process, from /proc/<pid>/stat.
type procStat struct {
	state     byte
	threads   int
	startTime uint64
}

// ended reports whether nothing is left but an entry for the parent to read: a zombie whose first thread is
// its last. While other threads are still ending, the ports of the process are not free yet.
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

// parseStat reads /proc/<pid>/stat (proc(5)). The second field, the command's name, is in parentheses and may
// itself contain spaces and parentheses.
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

package process

import (
	"os"
	"strings"
)

// tailLines is how much of a process's log an error repeats.
const tailLines = 20

// logTail is the last lines of a log, or why it cannot be read.
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

package components

import (
	"bytes"
	"fmt"
	"strings"
)

// tailLines is how much of the compiler's output an error repeats.
const tailLines = 20

// buildLog reads the output of go build: it counts the lines that are progress and keeps the last others.
type buildLog struct {
	tell       func(phase string)
	rest       []byte // an incomplete last line
	downloaded int
	compiled   int
	lines      []string
}

// Write needs no lock: os/exec copies both streams in one goroutine when they are the same writer.
func (l *buildLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.line(string(line))
		l.rest = rest
	}
}

func (l *buildLog) line(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		l.downloaded++
	case line != "" && !strings.ContainsAny(line, " :\t"):
		l.compiled++ // -v: the path of a package, alone on its line
	default:
		l.lines = append(l.lines, line)
		l.lines = l.lines[max(0, len(l.lines)-tailLines):]
		return
	}
	l.tell(buildPhase(l.downloaded, l.compiled))
}

func (l *buildLog) tail() string {
	return strings.Join(append(l.lines, string(l.rest)), "\n")
}

// buildPhase is short, so that the line of progress fits on a terminal of 80 columns. go build does not
// tell how many packages there are in all.
func buildPhase(downloaded, compiled int) string {
	if compiled == 0 {
		return fmt.Sprintf("%d modules downloaded", downloaded)
	}
	return fmt.Sprintf("%d packages compiled", compiled)
}

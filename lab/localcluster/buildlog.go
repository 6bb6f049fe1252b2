package localcluster

import (
	"bytes"
	"fmt"
	"strings"
)

// tailLines is how much of a compiler's or a process's output an error repeats.
const tailLines = 20

// buildLog reads what go build says: it counts what is progress and keeps the
// end of what is not.
type buildLog struct {
	progress   *progress
	rest       []byte // the last line, until its end has come
	downloaded int
	compiled   int
	lines      []string
}

// Write is called by one goroutine only: os/exec copies both streams with one
// when they are the same writer.
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
	l.progress.phase(buildPhase(l.downloaded, l.compiled))
}

func (l *buildLog) tail() string {
	return strings.Join(append(l.lines, string(l.rest)), "\n")
}

// buildPhase says how far a build is. How much there is to come go does not tell.
func buildPhase(downloaded, compiled int) string {
	switch {
	case compiled == 0:
		return fmt.Sprintf("downloading, %d modules so far", downloaded)
	case downloaded == 0:
		return fmt.Sprintf("compiling, %d packages so far", compiled)
	}
	return fmt.Sprintf("compiling, %d packages so far (%d modules downloaded)", compiled, downloaded)
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// traced are the calls that strace has to trace.
const traced = "open,openat,creat,close,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir"

var (
	traceLine = regexp.MustCompile(`^(\d+) +(.*)$`)
	call      = regexp.MustCompile(`^(\w+)\((.*)\) += (-?\d+)(?:<(.*)>)?`)
	// pathArg is a path, after the directory that it is relative to.
	pathArg  = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	closedFD = regexp.MustCompile(`^\d+<(.*)>$`)
)

// trace reads the output of strace -f -y, and calls each for every event in it, as in layouts.Save. The
// program ran in the root filesystem root and names files by absolute paths.
func trace(in io.Reader, root string, each func(op string, paths ...string)) error {
	unfinished := map[string]string{}
	writing := map[string]bool{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := traceLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		pid, text := m[1], m[2]
		if begun, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
			unfinished[pid] = begun
			continue
		}
		if strings.HasPrefix(text, "<... ") {
			_, rest, ok := strings.Cut(text, " resumed>")
			if !ok {
				return fmt.Errorf("the trace has a line that cannot be followed: %s", text)
			}
			text = unfinished[pid] + rest
		}
		if c := call.FindStringSubmatch(text); c != nil && c[3][0] != '-' {
			event(c, root, writing, each)
		}
	}
	return lines.Err()
}

func event(c []string, root string, writing map[string]bool, each func(string, ...string)) {
	name, args := c[1], c[2]
	var paths []string
	for _, m := range pathArg.FindAllStringSubmatch(args, -1) {
		p, err := strconv.Unquote(`"` + m[2] + `"`)
		if err != nil {
			p = m[2]
		}
		if !path.IsAbs(p) {
			p = path.Join("/", strings.TrimPrefix(m[1], root), p)
		}
		paths = append(paths, path.Clean(p))
	}
	switch name {
	case "open", "openat", "creat":
		if creates(name, args) {
			p := strings.TrimPrefix(c[4], root)
			writing[p] = true
			each("open", p)
		}
	case "close":
		if m := closedFD.FindStringSubmatch(args); m != nil {
			if p := strings.TrimPrefix(m[1], root); writing[p] {
				delete(writing, p)
				each("close", p)
			}
		}
	case "rename", "renameat", "renameat2":
		if writing[paths[0]] {
			delete(writing, paths[0])
			writing[paths[1]] = true
		}
		each("move", paths...)
	case "mkdir", "mkdirat":
		each("mkdir", paths[0])
	case "unlink", "unlinkat", "rmdir":
		each("delete", paths[0])
	}
}

// creates reports whether a call creates a file, or empties one.
func creates(name, args string) bool {
	return name == "creat" || strings.Contains(args, "O_CREAT") || strings.Contains(args, "O_TRUNC")
}

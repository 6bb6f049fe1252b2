// Package memorylimit bounds the memory of a process: by the limit of its container, and by how much garbage
// may gather.
package memorylimit

import (
	"fmt"
	"runtime/debug"
	"strconv"
)

// Follow makes the garbage collector keep the process below nine tenths of its container's limit, which a
// variable has in bytes, by the downward API: the rest is for what the runtime does not count, such as
// sockets' buffers. GOMEMLIMIT, where set, counts instead; without either the runtime knows no limit.
func Follow(variable string, getenv func(string) string) error {
	text := getenv(variable)
	if text == "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return fmt.Errorf("reading $%s: %q is no number of bytes", variable, text)
	}
	debug.SetMemoryLimit(limit / 10 * 9)
	return nil
}

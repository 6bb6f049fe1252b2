package main

import (
	"fmt"
	"runtime/debug"
	"strconv"
)

// memoryVariable is the container's memory limit in bytes; deploy/server/deployment.yaml sets it by the
// downward API.
const memoryVariable = "SERVER_MEMORY_LIMIT"

// limitMemory makes the garbage collector keep the process below nine tenths of its container's limit: the
// rest is for what the runtime does not count. GOMEMLIMIT, where set, counts instead; without either the
// runtime knows no limit.
func limitMemory(getenv func(string) string) error {
	text := getenv(memoryVariable)
	if text == "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return fmt.Errorf("reading $%s: %q is no number of bytes", memoryVariable, text)
	}
	debug.SetMemoryLimit(limit / 10 * 9)
	return nil
}

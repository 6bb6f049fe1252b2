package stack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// Stopped processes stand still, and continue in the end.
func TestStandStill(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) //nolint:errcheck // it ends with a signal
	until := func(stopped bool) {
		for t.Context().Err() == nil {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(") T ")) == stopped {
				return
			}
		}
	}
	slowing, stop := context.WithCancel(t.Context())
	var over sync.WaitGroup
	over.Go(func() {
		StandStill(slowing, func() ([]int, error) { return []int{cmd.Process.Pid}, nil }, 20*time.Millisecond,
			10*time.Millisecond)
	})
	for range 3 {
		until(true)
		until(false)
	}
	stop()
	over.Wait()
	until(false)
}

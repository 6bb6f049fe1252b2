package stack

import (
	"context"
	"syscall"
	"time"
)

// StandStill stops processes for a part of every period, until ctx ends. It always continues them, and lists
// the processes again in each period.
func StandStill(ctx context.Context, processes func() ([]int, error), period, stop time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		pids, err := processes()
		if err != nil {
			continue
		}
		signal(pids, syscall.SIGSTOP)
		time.Sleep(stop)
		signal(pids, syscall.SIGCONT)
	}
}

func signal(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s) // one that has just ended cannot be stopped
	}
}

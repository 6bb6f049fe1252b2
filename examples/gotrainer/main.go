// Gotrainer trains a small network on several ranks, in a way that can be stopped at any moment and resumed bit for bit: what
// examples/pytorch/train.py does, in one static binary, without Python and without a GPU.
//
// The same numbers come out whether the training was interrupted or not, because the batch of a step is drawn from the step's own
// number, the gradients are summed in the order of the ranks, and the optimizer's state is part of the checkpoint.
//
// What TRAININGJOB_*, CHECKPOINT_* and RESUME_FROM_CHECKPOINT mean: docs/checkpoints.md. Where the ranks meet (MASTER_ADDR, MASTER_PORT,
// RANK, WORLD_SIZE) is what framework pytorch gives them.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func main() {
	t := &trainer{out: os.Stdout}
	flag.Int64Var(&t.steps, "steps", 1000, "number of steps of the whole training, over all attempts")
	pause := flag.Float64("step-seconds", 0, "pause after each step of the first attempt, so that there is time to interrupt it, "+
		"and after the first 50 steps of any, so that one that wrongly begins at 0 is seen to")
	flag.StringVar(&t.logFile, "log", "", "file that rank 0 appends its losses to, besides its output")
	flag.Uint64Var(&t.seed, "seed", 1, "of the network and of the batches")
	flag.BoolVar(&t.dieAtOnce, "die-at-once", false, "on SIGTERM do not save: a trainer that does not cooperate")
	flag.BoolVar(&t.ignoreResume, "ignore-resume", false, "start at step 0 always: a trainer that is broken, for tests")
	flag.Parse()
	t.pause = time.Duration(*pause * float64(time.Second))
	if err := t.configure(os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "gotrainer:", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	if err := t.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gotrainer:", err)
		os.Exit(1)
	}
}

// configure reads the environment. Outside of a gang one rank trains alone, and without CHECKPOINT_DIR it saves nothing.
func (t *trainer) configure(env func(string) string) error {
	var err error
	number := func(name, otherwise string) int {
		n, e := strconv.Atoi(cmp.Or(env(name), otherwise))
		if e != nil && err == nil {
			err = fmt.Errorf("reading %s: %w", name, e)
		}
		return n
	}
	t.rank, t.world, t.attempt = number("RANK", "0"), number("WORLD_SIZE", "1"), number(checkpoint.EnvAttempt, "1")
	t.interval = time.Duration(number(checkpoint.EnvInterval, "60")) * time.Second
	t.leader = net.JoinHostPort(env("MASTER_ADDR"), env("MASTER_PORT"))
	t.dir, t.resumeFrom, t.jobUID = env(checkpoint.EnvDir), env(checkpoint.EnvResume), env(checkpoint.EnvJobUID)
	t.statusFile, t.commandFile = env(checkpoint.EnvStatusFile), env(checkpoint.EnvCommandFile)
	if err == nil && (t.rank < 0 || t.rank >= t.world) {
		err = fmt.Errorf("RANK is %d, and WORLD_SIZE %d", t.rank, t.world)
	}
	return err
}

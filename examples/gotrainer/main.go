// Gotrainer trains a small network on several ranks. It can be stopped at any moment and resumes bit for bit:
// what examples/pytorch/train.py does, in one static binary, without Python and without a GPU.
//
// An interrupted training yields the same numbers as an uninterrupted one, because the random batch of a step
// depends only on the seed, the step and the rank, the gradients are summed in the order of the ranks, and
// the optimizer's state is part of the checkpoint.
//
// docs/checkpoints.md explains TRAININGJOB_*, CHECKPOINT_* and RESUME_FROM_CHECKPOINT. The ranks find each
// other as those of framework pytorch do, by MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE.
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
	t := &trainer{}
	t.log.out = os.Stdout
	flag.Int64Var(&t.steps, "steps", 1000, "number of steps of the whole training, over all attempts")
	pause := flag.Float64("step-seconds", 0, "pause in seconds after each step of the first attempt "+
		"and of a rehearsal, so that there is time to interrupt it, and after each of the first 50 steps, "+
		"so that an attempt that wrongly starts at 0 shows")
	flag.StringVar(&t.log.file, "log", "",
		"file that rank 0 appends its log to, in addition to standard output")
	flag.Uint64Var(&t.seed, "seed", 1, "of the network and of the batches")
	flag.BoolVar(&t.dieAtOnce, "die-at-once", false,
		"do not save on SIGTERM, like a trainer that does not cooperate")
	flag.BoolVar(&t.ignoreResume, "ignore-resume", false,
		"always start at step 0, like a broken trainer, for tests")
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

// configure reads the environment. Without a gang, one rank trains alone; without CHECKPOINT_DIR, it saves
// nothing.
func (t *trainer) configure(env func(string) string) error {
	var err error
	number := func(name, otherwise string) int {
		n, e := strconv.Atoi(cmp.Or(env(name), otherwise))
		if e != nil && err == nil {
			err = fmt.Errorf("reading %s: %w", name, e)
		}
		return n
	}
	t.rank, t.worldSize = number("RANK", "0"), number("WORLD_SIZE", "1")
	t.attempt = number(checkpoint.EnvAttempt, "1")
	t.interval = time.Duration(number(checkpoint.EnvInterval, "60")) * time.Second
	t.leader = net.JoinHostPort(env("MASTER_ADDR"), env("MASTER_PORT"))
	t.dir, t.resumeFrom, t.jobUID = env(checkpoint.EnvDir), env(checkpoint.EnvResume), env(checkpoint.EnvJobUID)
	t.statusFile, t.commandFile = env(checkpoint.EnvStatusFile), env(checkpoint.EnvCommandFile)
	t.settingsFile, t.beatFile = env(checkpoint.EnvSettingsFile), env(checkpoint.EnvBeatFile)
	t.rehearsal = env(checkpoint.EnvRehearsal) == "1"
	if err == nil && (t.rank < 0 || t.rank >= t.worldSize) {
		err = fmt.Errorf("RANK is %d, and WORLD_SIZE %d", t.rank, t.worldSize)
	}
	t.log.attempt, t.log.silent = t.attempt, t.rank != 0
	return err
}

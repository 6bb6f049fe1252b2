package store

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// writerDSN makes the test's binary a process that writes into that database, in an order of its own.
const (
	writerDSN   = "STORE_TEST_WRITER_DSN"
	writerOrder = "STORE_TEST_WRITER_ORDER"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(writerDSN); dsn != "" {
		if err := writeAll(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const killedHistories = 20

// writeAll records histories, a few versions at a time, and says when it has written some. What it begins
// with is news for the most part, whatever was written before.
func writeAll(dsn string) error {
	s, err := Open(context.Background(), Options{DSN: dsn})
	if err != nil {
		return err
	}
	var all []history.Record
	for seed := range uint64(killedHistories) {
		all = append(all, played(seed)...)
	}
	order, err := strconv.ParseUint(os.Getenv(writerOrder), 10, 64)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(order, 25))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for len(all) > 0 {
		n := min(len(all), 5)
		if err := s.Record(context.Background(), all[:n]); err != nil {
			return err
		}
		all = all[n:]
		fmt.Println("recorded")
	}
	return s.Close()
}

// testKilled kills a process that writes again and again, at any moment, and compares what is there after it
// has come to its end once with what one that was left alone has written.
func testKilled(t *testing.T, b backend) {
	dsn := b.database(t)
	rng := rand.New(rand.NewPCG(1, 26))
	for n := range 40 {
		writer(t, dsn, n, rng.IntN(10), time.Duration(rng.Int64N(int64(25*time.Millisecond))))
	}
	writer(t, dsn, 99, -1, 0)
	killed := open(t, dsn)
	alone := open(t, b.database(t))
	for seed := range uint64(killedHistories) {
		rs := played(seed)
		must(t, alone.Record(t.Context(), rs))
		want, got := whole(t, alone, rs[0].Job.Key), whole(t, killed, rs[0].Job.Key)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-left alone +killed):\n%s", seed, diff)
		}
	}
	usageIsTheSum(t, killed)
	usageIsTheSum(t, alone)
}

// writer runs a process that writes, and kills it some time after it has reported so many writes, so
// that any step of a write may be its last; -1: it runs to its end.
func writer(t *testing.T, dsn string, order, batches int, later time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), writerDSN+"="+dsn, writerOrder+"="+strconv.Itoa(order))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for n := 0; n != batches && lines.Scan(); {
		n++
	}
	if batches >= 0 {
		<-time.After(later) // nothing is waited for: this is when it dies
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // that it was killed is no news
		return
	}
	must(t, cmd.Wait())
}

package measure

import (
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte("4711 (kube (odd) name) S 42 1 1 0 -1 4194560 900 0 0 0 " +
		"250 17 0 0 20 0 9 0 100 1 2"))
	if want := (program{name: "kube (odd) name", parent: 42, ticks: 267}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "1 kube S 1", "1 (kube) S x 1 1 0 -1 0 0 0 0 0 1 1"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestDescendants(t *testing.T) {
	all := map[int]program{
		1: {parent: 0}, 10: {parent: 1}, 20: {parent: 10}, 30: {parent: 20}, 40: {parent: 1}, 50: {parent: 99},
	}
	got := slices.Sorted(maps.Keys(descendants(all, 10)))
	if diff := cmp.Diff([]int{20, 30}, got); diff != "" {
		t.Errorf("children and theirs, not itself and not its siblings (-want +got):\n%s", diff)
	}
}

func TestPeak(t *testing.T) {
	if got := peak([]byte("Name:\tetcd\nVmPeak:\t  99 kB\nVmHWM:\t   1024 kB\nVmRSS:\t 12 kB\n")); got != 1<<20 {
		t.Errorf("peak %d, want 1 MiB", got)
	}
	if got := peak([]byte("Name:\tzombie\n")); got != 0 {
		t.Errorf("peak %d of a process without memory", got)
	}
}

// A child's memory and time are seen, under the full name of its program.
func TestUsed(t *testing.T) {
	before, err := Used()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() }) //nolint:errcheck // its input has ended, so it ends
	for {
		now, err := Used()
		if err != nil {
			t.Fatal(err)
		}
		if used := now.Since(before); used.CPU["sh"] > 0.02 && used.PeakMemory["sh"] > 100<<10 {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("%+v", now)
		}
	}
	if err := ResetPeaks(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string][]int{"sh": {cmd.Process.Pid}, "kube-apiserver": nil} {
		if got, err := PIDsOf(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("processes of %s: %v, %v, want %v", name, got, err, want)
		}
	}
}

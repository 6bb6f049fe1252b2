package memorylimit

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	const mebibyte = 1 << 20
	for live, want := range map[uint64]int{
		0:              4800, // a process that has just begun
		24 * mebibyte:  200,
		48 * mebibyte:  100,
		160 * mebibyte: 30,
		480 * mebibyte: 25,
		10 << 30:       25, // and not 0, with which nothing but collections would happen
	} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MiB live: %d percent, want %d", live/mebibyte, got, want)
		}
	}
}

// TestBoundHeadroom: what the heap may grow by follows what is live.
func TestBoundHeadroom(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	BoundHeadroom(func(string) string { return "100" })
	if got := percent(); got != 100 {
		t.Fatalf("with an admin's own GOGC of 100: %d percent", got)
	}
	BoundHeadroom(func(string) string { return "" })
	held := make([]byte, 200<<20)
	awaitPercent(t, func(p int) bool { return p < 60 })
	runtime.KeepAlive(held)
	held = nil
	awaitPercent(t, func(p int) bool { return p > 200 })
}

// percent is read by writing it.
func percent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

func awaitPercent(t *testing.T, ok func(int) bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for p := percent(); !ok(p); p = percent() {
		if time.Now().After(deadline) {
			t.Fatalf("it stays at %d percent", p)
		}
		runtime.GC()
		time.Sleep(time.Millisecond) // the runtime says nowhere when it has cleaned up
	}
}

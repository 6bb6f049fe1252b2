package memorylimit

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// headroom is how many bytes may be allocated until the next collection of garbage. By Go's default that is
// as much as is live, which is little for a small heap, whose collections then cost a fifth of all
// processor time, and much for one that holds ten thousand jobs, which then takes twice the memory that it
// needs.
//
// A larger heap has at least a quarter of what is live: each collection looks at all of that, so with less
// the cost of each byte that is allocated would grow with the heap. With a hundred thousand jobs 48 MiB are
// two percent.
const (
	headroom     = 48 << 20
	leastPercent = 25
)

// BoundHeadroom lets the heap grow by the headroom between two collections. An admin's own GOGC counts
// instead.
func BoundHeadroom(getenv func(string) string) {
	if getenv("GOGC") != "" {
		return
	}
	adapt := func() { debug.SetGCPercent(percentFor(liveBytes())) }
	adapt()
	afterEachCollection(adapt)
}

// percentFor is Go's measure of headroom, in percent of the bytes that are live.
func percentFor(live uint64) int { return max(leastPercent, int(100*headroom/max(live, 1<<20))) }

// liveBytes are those that the last collection has found in use.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// afterEachCollection calls a function once after every collection, of which each cleans up an object that
// nothing refers to.
func afterEachCollection(do func()) {
	type sentinel struct{ _ *int } // with a pointer: otherwise it would share its memory with others
	runtime.AddCleanup(&sentinel{}, func(struct{}) {
		do()
		afterEachCollection(do)
	}, struct{}{})
}

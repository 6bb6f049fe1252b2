package logview

import "time"

// Bounds of sorting lines of several ranks.
const (
	// hold is how long a line waits for earlier ones of other ranks; nodes differ in latency.
	hold = 300 * time.Millisecond
	// holdOpening is the same while logs of other ranks are being opened.
	holdOpening = 5 * time.Second
	// maxHeld is the approximate number of bytes that wait; lines beyond it do not.
	maxHeld = 1 << 20
)

// source is the state of a rank's log.
type source int

const (
	opening source = iota
	// writing: its log is followed.
	writing
	// silent: it has no log now.
	silent
)

// merger sorts the lines of several ranks by time, as far as the nodes' clocks agree. A line waits until
// every writing rank has one, at most for hold, and only while less than maxHeld waits.
type merger struct {
	queues  [][]heldLine
	sources []source
	size    int
}

// heldLine of a rank.
type heldLine struct {
	Line
	pod string
	// order is the line's time, or that of the previous line if it has none.
	order, arrived time.Time
}

// mergedLine is the next line, with the index of its rank.
type mergedLine struct {
	heldLine
	rank int
}

func newMerger(ranks int) *merger {
	return &merger{queues: make([][]heldLine, ranks), sources: make([]source, ranks)}
}

// put adds lines of a rank.
func (m *merger) put(rank int, lines []Line, pod string, now time.Time) {
	queue := m.queues[rank]
	for _, l := range lines {
		held := heldLine{l, pod, l.Time, now}
		if n := len(queue); l.Time.IsZero() && n > 0 {
			held.order = queue[n-1].order
		}
		queue = append(queue, held)
		m.size += cost(l)
	}
	m.queues[rank] = queue
}

// take returns the next lines, at most as many as fit into one event. wait is the time until more can be
// taken without new lines; 0: nothing waits.
func (m *merger) take(now time.Time) (lines []mergedLine, wait time.Duration) {
	for size := 0; len(lines) < batchLines && size < batchBytes; {
		first, oldest, whole := m.look()
		if first < 0 {
			return lines, 0
		}
		patience := hold
		for _, s := range m.sources {
			if s == opening {
				patience = holdOpening
			}
		}
		if left := patience - now.Sub(oldest); left > 0 && !whole && m.size <= maxHeld {
			return lines, left
		}
		held := m.queues[first][0]
		if m.queues[first] = m.queues[first][1:]; len(m.queues[first]) == 0 {
			m.queues[first] = nil
		}
		m.size -= cost(held.Line)
		size += cost(held.Line)
		lines = append(lines, mergedLine{held, first})
	}
	return lines, 0
}

// look returns the rank with the earliest line, or -1. oldest is since when a line waits; whole reports
// whether every rank that can write an earlier line has one.
func (m *merger) look() (first int, oldest time.Time, whole bool) {
	first, whole = -1, true
	for rank, queue := range m.queues {
		if len(queue) == 0 {
			whole = whole && m.sources[rank] == silent
			continue
		}
		if first < 0 || queue[0].order.Before(m.queues[first][0].order) {
			first = rank
		}
		if oldest.IsZero() || queue[0].arrived.Before(oldest) {
			oldest = queue[0].arrived
		}
	}
	return first, oldest, whole
}

package metric

import (
	"strings"
	"sync"
)

// Other stands for all values of a label beyond the limit.
const Other = "Other"

// maxLabelBytes of a value that a user has written: as long as a name of Kubernetes may be.
const maxLabelBytes = 253

// Text makes what a user has written fit for a label: valid UTF-8, of at most 253 bytes. A value that is not
// would fail the whole scrape.
func Text(value string) string {
	if len(value) > maxLabelBytes {
		value = value[:maxLabelBytes]
	}
	return strings.ToValidUTF8(value, "")
}

// Bounded tells at most Max values of a label apart, those that come first; the zero value of a label always
// stays. Series of counters stay for as long as the process, so text that users choose must not make them.
type Bounded struct {
	Max  int
	mu   sync.Mutex
	seen map[string]bool
}

// Value returns the value, or Other when there are Max different ones already.
func (b *Bounded) Value(value string) string {
	if value == "" {
		return ""
	}
	value = Text(value)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.seen[value]:
		return value
	case len(b.seen) >= b.Max:
		return Other
	case b.seen == nil:
		b.seen = map[string]bool{}
	}
	b.seen[value] = true
	return value
}

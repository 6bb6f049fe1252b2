package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// IndexSet is a set of rank indexes. In a status it is written as ranges ("0-3,7"), so that 5,000 finished
// ranks take a few bytes.
type IndexSet map[int32]struct{}

// Has reports whether the index is in the set.
func (s IndexSet) Has(i int32) bool { _, ok := s[i]; return ok }

// maxIndex is the highest that a rank can have.
const maxIndex = MaxReplicas - 1

// ParseIndexes reads the format of FormatIndexes. It skips other parts, so that a foreign status takes at
// most the memory of the largest job.
func ParseIndexes(text string) IndexSet {
	if text == "" {
		return nil
	}
	set := IndexSet{}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseInt(from, 10, 32)
		b, errB := strconv.ParseInt(to, 10, 32)
		if errA != nil || errB != nil || a < 0 || b > maxIndex {
			continue
		}
		for i := a; i <= b; i++ {
			set[int32(i)] = struct{}{}
		}
	}
	return set
}

// FormatIndexes writes ascending indexes as ranges.
func FormatIndexes(ascending []int32) string {
	var parts []string
	for i := 0; i < len(ascending); {
		j := i
		for j+1 < len(ascending) && ascending[j+1] == ascending[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(int(ascending[i])))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ascending[i], ascending[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

package trainingjob

import (
	"fmt"
	"strconv"
	"strings"
)

// indexSet is a set of rank indexes, written as ranges ("0-3,7") so that 5,000 finished ranks stay a few bytes.
type indexSet map[int32]struct{}

func (s indexSet) has(i int32) bool { _, ok := s[i]; return ok }

// parseRanges reads what formatRanges wrote; parts that it did not write are left out.
func parseRanges(text string) indexSet {
	if text == "" {
		return nil
	}
	set := indexSet{}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseInt(from, 10, 32)
		b, errB := strconv.ParseInt(to, 10, 32)
		if errA != nil || errB != nil {
			continue
		}
		for i := a; i <= b; i++ {
			set[int32(i)] = struct{}{}
		}
	}
	return set
}

// formatRanges writes ascending indexes as ranges.
func formatRanges(ascending []int32) string {
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

package logview

import (
	"slices"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Positions in the logs of several ranks. A rank without one is at the start.
type Positions map[spec.RankRef]Position

// Separators between ranks, and between a rank and its position.
const (
	betweenRanks = "_"
	ofRank       = "."
)

// ParsePositions of some ranks; those of others are ignored.
func ParsePositions(s string, ranks []spec.RankRef) (Positions, error) {
	p := Positions{}
	if s == "" {
		return p, nil
	}
	named := make(map[string]spec.RankRef, len(ranks))
	for _, rank := range ranks {
		named[rankKey(rank)] = rank
	}
	for part := range strings.SplitSeq(s, betweenRanks) {
		key, text, _ := strings.Cut(part, ofRank)
		at, err := ParsePosition(text)
		if err != nil || at.Time.IsZero() {
			return nil, noPosition(part)
		}
		if rank, is := named[key]; is {
			p[rank] = at
		}
	}
	return p, nil
}

func (p Positions) String() string {
	var parts []string
	for rank, at := range p {
		if text := at.String(); text != "" {
			parts = append(parts, rankKey(rank)+ofRank+text)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, betweenRanks)
}

// rankKey of a rank, for example worker3.
func rankKey(r spec.RankRef) string { return spec.RoleKey(r.Role) + strconv.Itoa(int(r.Index)) }

package agent

import (
	"fmt"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// settleTime is how long a whole save must stay unchanged before older saves are deleted for it. A part
// that its trainer begins to write later appears in this time.
const settleTime = 30 * time.Second

// settling is what the agent knows of one whole save: its content when it was last scanned, since when it
// is so, and how many looks at the volume have found it so.
type settling struct {
	content string
	since   time.Time
	looks   int
	settled bool
}

// settled follows the whole saves until they stop changing.
type settled struct {
	saves map[string]*settling
	// changes counts the saves that have settled.
	changes int
}

// contentOf changes when a file of the save is added, deleted, grows or is written.
func contentOf(f *checkpoint.Found) string {
	return fmt.Sprint(f.Step, f.Bytes, f.CommittedAt.UnixNano(), strings.Join(f.Roots(), "\x00"), len(f.Parts))
}

// scan takes the result of a scan.
func (s *settled) scan(found []checkpoint.Found, now time.Time) {
	saves := map[string]*settling{}
	for i := range found {
		f := &found[i]
		if f.State != checkpoint.Complete {
			continue
		}
		content := contentOf(f)
		if known := s.saves[f.Path]; known != nil && known.content == content {
			saves[f.Path] = known
		} else {
			saves[f.Path] = &settling{content: content, since: now}
		}
	}
	s.saves = saves
	s.look(now)
}

// look notes that the volume looks as it did at the last scan. A clock that jumped back starts the time
// again.
func (s *settled) look(now time.Time) {
	for _, save := range s.saves {
		save.looks++
		if now.Before(save.since) {
			save.since = now
		}
		if !save.settled && save.looks > 1 && now.Sub(save.since) >= settleTime {
			save.settled = true
			s.changes++
		}
	}
}

// paths returns the paths of the found saves that have settled and have not changed since.
func (s *settled) paths(found []checkpoint.Found) []string {
	var out []string
	for i := range found {
		f := &found[i]
		if save := s.saves[f.Path]; save != nil && save.settled && save.content == contentOf(f) {
			out = append(out, f.Path)
		}
	}
	return out
}

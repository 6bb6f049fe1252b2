package history

import (
	"io"
	"strings"
	"testing"
	"time"
)

// TestShortForm asks everything of a small history: each question has an answer.
func TestShortForm(t *testing.T) { answers(t, "sqlite") }

func answers(t *testing.T, database string) {
	t.Helper()
	times, err := Run(t.Context(), Options{
		Database: database, Attempts: 5000, Runs: 1, Dir: t.TempDir(), Progress: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range times {
		if row.Entries == 0 || row.Max <= 0 || row.Database != database {
			t.Errorf("no answer: %+v", row)
		}
	}
	if len(times) != len(questions())+1 {
		t.Errorf("%d questions were asked", len(times))
	}
}

func TestPrint(t *testing.T) {
	for name, c := range map[string]struct {
		max  time.Duration
		says string
	}{
		"below": {Limit - 1, "All 1 stayed below 200ms each time."},
		"above": {Limit, "1 of 1 took 200ms or longer at least once."},
	} {
		var out strings.Builder
		err := Print(&out, []Time{{Database: "sqlite", Question: "all", Entries: 3, Median: time.Millisecond, Max: c.max}})
		if err != nil || !strings.Contains(out.String(), c.says) || !strings.Contains(out.String(), "1.0 ms") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

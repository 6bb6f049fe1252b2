package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Outcome of one scenario on one scheduler, one line of a committed list.
type Outcome struct {
	Scenario string
	// Lacking says why the scenario does not apply; it is empty if the scenario ran.
	Lacking string
	// Target of make that plays the scenario, where make test leaves it out.
	Target string
}

// leftTo is before the Target in a list.
const leftTo = "left to make "

// Line returns the outcome's line in the committed list.
func (o Outcome) Line() string {
	switch {
	case o.Lacking != "":
		return o.Scenario + ": not applicable: " + o.Lacking
	case o.Target != "":
		return o.Scenario + ": " + leftTo + o.Target
	}
	return o.Scenario + ": ran"
}

// CompareList compares what ran with a committed list, so that every omission passes a review. With update it
// writes the list instead.
func CompareList(path string, got []Outcome, update bool) error {
	lines := make([]string, 0, len(got))
	for _, o := range got {
		lines = append(lines, o.Line())
	}
	slices.Sort(lines)
	text := strings.Join(lines, "\n") + "\n"
	if update {
		return os.WriteFile(path, []byte(text), 0o644)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the committed list: %w", err)
	}
	if string(want) == text {
		return nil
	}
	var differences []string
	committed := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	for _, l := range committed {
		if !slices.Contains(lines, l) {
			differences = append(differences, "  committed, and did not happen: "+l)
		}
	}
	for _, l := range lines {
		if !slices.Contains(committed, l) {
			differences = append(differences, "  happened, and is not committed: "+l)
		}
	}
	return fmt.Errorf("%s differs from what ran (-update writes it):\n%s", path, strings.Join(differences, "\n"))
}

// ReadMap reads lines of the form "key: value". Lines that begin with # are comments.
func ReadMap(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if _, twice := m[key]; !ok || twice {
			return nil, fmt.Errorf("%s:%d: want one line \"key: value\" for each key", path, i+1)
		}
		m[key] = strings.TrimSpace(value)
	}
	return m, nil
}

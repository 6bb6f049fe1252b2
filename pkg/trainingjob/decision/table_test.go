package decision

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestTransitionTableIsDocumented compares the package's documentation with the table. With -update it
// renders the table into the documentation.
func TestTransitionTableIsDocumented(t *testing.T) {
	const begin, end = "// A test renders this list from the table:\n//\n", "package decision\n"
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	if !ok || !strings.HasSuffix(rest, end) {
		t.Fatal("doc.go lacks the line before the table, or ends with something else")
	}
	want := head + begin + renderTable() + end
	if *update {
		if err := os.WriteFile("doc.go", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(want, string(text)); diff != "" {
		t.Errorf("the documentation shows another table; run with -update (-want +got):\n%s", diff)
	}
}

func renderTable() string {
	var b strings.Builder
	for _, row := range table {
		var from []string
		for _, ph := range row.From {
			from = append(from, cmp.Or(string(ph), "new"))
		}
		name := strings.Join(from, ", ")
		fmt.Fprintf(&b, "//\t%s\n//\t    → %-10s when %s\n", name, row.To, wrapped(row.When.Name))
	}
	return b.String()
}

// wrapped breaks a guard's name into lines that stay within 110 columns of doc.go.
func wrapped(name string) string {
	const most, indent = 80, "//\t                      "
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(name) {
		switch {
		case i == 0:
		case column+len(word) >= most:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// TestEveryPhaseIsReachedAndLeft: every phase can be reached, and every phase that is not final can be left.
func TestEveryPhaseIsReachedAndLeft(t *testing.T) {
	reached, left := map[v1alpha1.Phase]bool{}, map[v1alpha1.Phase]bool{}
	for _, row := range table {
		reached[row.To] = true
		for _, ph := range row.From {
			left[ph] = true
			if ph.Finished() {
				t.Errorf("%s is final, yet a row leaves it", ph)
			}
		}
	}
	for _, ph := range []v1alpha1.Phase{
		v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning,
		v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended,
	} {
		if !reached[ph] || !left[ph] {
			t.Errorf("%s: reached %t, left %t", ph, reached[ph], left[ph])
		}
	}
}

package trainingjob

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestTransitionTableIsDocumented renders the machine into the package's documentation.
func TestTransitionTableIsDocumented(t *testing.T) {
	const begin, end = "// machine by a test.\n//\n", "package trainingjob\n"
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	if !ok || !strings.HasSuffix(rest, end) {
		t.Fatal("doc.go has lost the place of its table")
	}
	want := head + begin + renderMachine() + end
	if *update {
		if err := os.WriteFile("doc.go", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(want, string(text)); diff != "" {
		t.Errorf("the documentation shows another machine; run with -update (-want +got):\n%s", diff)
	}
}

func renderMachine() string {
	var b strings.Builder
	for _, row := range machine {
		var from []string
		for _, ph := range row.from {
			from = append(from, cmp.Or(string(ph), "new"))
		}
		name := strings.Join(from, ", ")
		if len(row.from) == len(unended) {
			name = "(all but final)"
		}
		fmt.Fprintf(&b, "//\t%s\n//\t    → %-10s when %s\n", name, row.to, row.when.name)
	}
	return b.String()
}

// TestMachineIsWhole: every phase can be reached, and every phase that is not final can be left.
func TestMachineIsWhole(t *testing.T) {
	reached, left := map[v1alpha1.Phase]bool{}, map[v1alpha1.Phase]bool{}
	for _, row := range machine {
		reached[row.to] = true
		if len(row.from) == len(unended) {
			continue // the rows to Failed say nothing
		}
		for _, ph := range row.from {
			left[ph] = true
			if ph.Finished() {
				t.Errorf("%s is final, yet a row leaves it", ph)
			}
		}
	}
	for _, ph := range unended[1:] {
		if !reached[ph] || !left[ph] {
			t.Errorf("%s: reached %t, left %t", ph, reached[ph], left[ph])
		}
	}
}

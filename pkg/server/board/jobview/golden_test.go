package jobview

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// rendered page of an input.
func rendered(t *testing.T, in Input) (string, []fragment.Fragment) {
	t.Helper()
	v := Of(in)
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	fragmenttest.Check(t, all)
	html := page(string(fragment.Contents(all, Container)))
	fragmenttest.Document(t, html)
	return html, all
}

// TestTales compares the page of each tale with its golden file.
func TestTales(t *testing.T) {
	for _, name := range taleNames() {
		t.Run(name, func(t *testing.T) {
			got, _ := rendered(t, tales[name]())
			path := filepath.Join("testdata", name+".html")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the page has changed (-want +got); look at it, then run with -update:\n%s", diff)
			}
		})
	}
}

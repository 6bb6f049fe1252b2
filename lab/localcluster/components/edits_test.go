package components

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourceEdit: an edit whose place has changed is an error, so that no new version loses it silently.
func TestSourceEdit(t *testing.T) {
	cases := map[string]struct{ source, want, complains string }{
		"once":  {source: "a old b", want: "a new b"},
		"gone":  {source: "a b", want: "a b", complains: `has "old" 0 times`},
		"twice": {source: "old old", want: "old old", complains: `has "old" 2 times`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.go")
			if err := os.WriteFile(file, []byte(c.source), 0o444); err != nil {
				t.Fatal(err)
			}
			err := sourceEdit{module: "example.com/m", file: "a.go", old: "old", new: "new"}.apply(file)
			if (err == nil) != (c.complains == "") || err != nil && !strings.Contains(err.Error(), c.complains) {
				t.Errorf("got %v, want %q", err, c.complains)
			}
			if text, err := os.ReadFile(file); string(text) != c.want || err != nil {
				t.Errorf("the file has %q, %v", text, err)
			}
		})
	}
}

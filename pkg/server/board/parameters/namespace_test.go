package parameters_test

import (
	"html/template"
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

// TestNamespaceField: a reader chooses from a list, or types the name where the list is unknown or too long.
func TestNamespaceField(t *testing.T) {
	page := parameters.WithNamespace(template.New(""))
	names := func(all ...string) func() []string { return func() []string { return all } }
	for name, test := range map[string]struct {
		chosen string
		list   func() []string
		want   []string
	}{
		"unknown":      {"a", nil, []string{`<input name="namespace" value="a"`}},
		"failed":       {"", names(), []string{`<input name="namespace" value=""`}},
		"too many":     {"a", names(slices.Repeat([]string{"a"}, 1001)...), []string{`<input name="namespace"`}},
		"none visible": {"", func() []string { return []string{} }, []string{`<select name="namespace"`, ">all<"}},
		"chosen":       {"b", names("a", "b"), []string{"<option>a</option><option selected>b</option>"}},
		"chosen, not visible": {"b", names("a", "c"), []string{
			"<option>a</option><option selected>b</option><option>c</option>",
		}},
		"escaped": {`"><script>`, names("a"), []string{"&lt;script&gt;"}},
	} {
		var out strings.Builder
		field := parameters.NewNamespaceField(test.chosen, test.list)
		if err := page.ExecuteTemplate(&out, "namespace", field); err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %s, want %s", name, out.String(), want)
			}
		}
	}
}

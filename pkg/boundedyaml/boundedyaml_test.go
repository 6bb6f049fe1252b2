package boundedyaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// bombs expand to gigabytes.
var bombs = map[string]string{
	"a long text": fmt.Sprintf("a: &a %q\nb: [%s]", strings.Repeat("x", 100<<10), strings.Repeat("*a,", 30_000)),
	"lists of lists": "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" +
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f]",
	"merged mappings": fmt.Sprintf("a: &a {k: %q}\nb: [%s]", strings.Repeat("x", 100<<10),
		strings.Repeat("{<<: *a},", 10_000)),
	"a key": fmt.Sprintf("a: &a %q\nb: [%s]", strings.Repeat("x", 100<<10), strings.Repeat("{*a : 1},", 10_000)),
}

func TestBombs(t *testing.T) {
	for name, bomb := range bombs {
		if _, err := new(Input).ToJSON([]byte(bomb)); err == nil || !strings.Contains(err.Error(), "4 MiB") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	for name, document := range map[string]string{
		"contains it": "a: &a [*a]", "levels": strings.Repeat("[", 20_000) + "*a",
	} {
		if _, err := new(Input).ToJSON([]byte(document)); err == nil {
			t.Errorf("%q is no error", name)
		}
	}
}

// TestSum: documents that are small each are too much together.
func TestSum(t *testing.T) {
	document := fmt.Appendf(nil, "a: &a %q\nb: [%s]", strings.Repeat("x", 10<<10), strings.Repeat("*a,", 100))
	in, taken := Input{}, 0
	for range 10 {
		if _, err := in.ToJSON(document); err == nil {
			taken++
		}
	}
	if taken != 4 {
		t.Errorf("%d documents of 1 MiB are taken", taken)
	}
}

// TestAliases of reasonable size are written out, as without this package.
func TestAliases(t *testing.T) {
	got, err := new(Input).ToJSON([]byte("a: &a {k: 1}\nb: {<<: *a, c: [*a, '* ']}\n"))
	if want := `{"a":{"k":1},"b":{"c":[{"k":1},"* "],"k":1}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	var into map[string]any
	if err := Unmarshal([]byte("a: &a 1\nb: *a"), &into); err != nil || len(into) != 2 {
		t.Errorf("%v, %v", into, err)
	}
}

// FuzzExpansion: what is taken is what the library reads, and no larger than the bound allows.
func FuzzExpansion(f *testing.F) {
	for _, bomb := range bombs {
		f.Add([]byte(bomb[:min(len(bomb), 4096)]))
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("a: &a {k: 1}\nb: {<<: *a, c: [*a, '* ']}\n"))
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := new(Input).ToJSON(document)
		if err != nil {
			return
		}
		// JSON escapes a byte with six at most.
		if len(got) > 6*(len(document)+MaxExpansion)+64 {
			t.Errorf("%d bytes become %d", len(document), len(got))
		}
		want, err := yaml.YAMLToJSONStrict(document)
		if err != nil || !json.Valid(got) || string(want) != string(got) {
			t.Errorf("%s, not %s: %v", got, want, err)
		}
	})
}

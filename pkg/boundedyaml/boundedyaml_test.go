package boundedyaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	goyaml "go.yaml.in/yaml/v3"
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

// documents have few bytes for their nodes, and whether they have an alias.
var documents = map[string]bool{
	"": false, "a": false, "[a: b, {c, d}, [? e], , : f]": false, "- - - a\n- ? b\n-": false,
	"{a, b: {c}}": false, "#\n#\na: #\n  b #\n": false,
	"[[],[],{},{},]": false, "\"a\":1": false, "? a\n? b": false, "-\ta": false,
	"a: &a 1\nb: *a": true, "[&a 1,*a]": true, "{&a a: 1, \"b\":*a }": true, "&a a : 1\n*a : 2": true,
	"a: ['*.csv', 'x * y', 2*a]": false,
}

// nodesOf a document, with its comments, and whether it has an alias.
func nodesOf(t *testing.T, document []byte) (nodes int, alias bool) {
	t.Helper()
	var root goyaml.Node
	if err := goyaml.Unmarshal(document, &root); err != nil {
		return 0, false
	}
	var count func(*goyaml.Node)
	count = func(n *goyaml.Node) {
		nodes += 1 + strings.Count(n.HeadComment+n.LineComment+n.FootComment, "#")
		alias = alias || n.Kind == goyaml.AliasNode
		for _, child := range n.Content {
			count(child)
		}
	}
	count(&root)
	return nodes, alias
}

// TestNodes is an upper bound, and Weight is MaxNodes for documents with an alias.
func TestNodes(t *testing.T) {
	for document, want := range documents {
		nodes, alias := nodesOf(t, []byte(document))
		if got := Nodes([]byte(document)); got < nodes {
			t.Errorf("%q has %d nodes, not %d", document, nodes, got)
		}
		if got := Weight([]byte(document)) == MaxNodes; got != want {
			t.Errorf("%q: the weight counts an alias: %v", document, got)
		}
		if alias != want {
			t.Errorf("%q has an alias: %v", document, alias)
		}
	}
}

// TestTooManyNodes: such a document is not parsed, whatever its shape. Documents of one input count together.
func TestTooManyNodes(t *testing.T) {
	for _, unit := range []string{"a,", "[],", "{a},", "a: b,", "- a\n", "#\n"} {
		document := []byte(strings.Repeat(unit, MaxNodes/2))
		in := Input{}
		if _, err := in.ToJSON(document); err == nil || !strings.Contains(err.Error(), "200000 values") {
			t.Errorf("%q: the error is %v", unit, err)
		}
		if _, err := Parse(document); err == nil {
			t.Errorf("%q is parsed", unit)
		}
	}
	in, taken := Input{MaxNodes: 100}, 0
	for range 10 {
		if _, err := in.ToJSON([]byte("[a,b,c,d,e,f,g,h,i]")); err == nil {
			taken++
		}
	}
	if taken != 5 {
		t.Errorf("%d documents of 20 nodes are taken", taken)
	}
}

// TestLongErrors: an error that lists thousands of mistakes is cut.
func TestLongErrors(t *testing.T) {
	_, err := new(Input).ToJSON([]byte("{" + strings.Repeat("a,", 10_000) + "}"))
	if err == nil || len(err.Error()) > maxErrorBytes+10 {
		t.Errorf("the error is %.100v", err)
	}
}

// FuzzExpansion: what is taken is what the library reads, and no larger than the bound allows.
func FuzzExpansion(f *testing.F) {
	for _, bomb := range bombs {
		f.Add([]byte(bomb[:min(len(bomb), 4096)]))
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("a: &a [?a]"))
	f.Add([]byte("a: &a {k: 1}\nb: {<<: *a, c: [*a, '* ']}\n"))
	for document := range documents {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := new(Input).ToJSON(document)
		if err != nil {
			return
		}
		// JSON escapes a byte with six at most.
		if len(got) > 6*(len(document)+MaxExpansion)+64 {
			t.Errorf("%d bytes become %d", len(document), len(got))
		}
		if n, alias := nodesOf(t, document); n > Nodes(document) || alias && !mayHaveAlias(document) {
			t.Errorf("%d nodes, not %d; an alias: %v", n, Nodes(document), alias)
		}
		want, err := yaml.YAMLToJSONStrict(document)
		if err != nil || !json.Valid(got) || string(want) != string(got) {
			t.Errorf("%s, not %s: %v", got, want, err)
		}
	})
}

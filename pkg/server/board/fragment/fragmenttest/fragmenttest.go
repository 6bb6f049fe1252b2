// Package fragmenttest checks, for tests, the rules for all fragments of the board: a fragment is one
// element, and conforms to the board's content security policy.
package fragmenttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
)

// Check verifies fragments of one page: each is exactly one element as a browser parses it, ids are unique,
// also of inner elements, and none has a script, a style or an event handler.
func Check(t testing.TB, all []fragment.Fragment) {
	t.Helper()
	if err := fragment.Check(all); err != nil {
		t.Error(err)
	}
	seen := map[string]string{}
	for _, f := range all {
		for _, wrong := range problems(f, seen) {
			t.Errorf("fragment %s: %s: %s", f.ID, wrong, f.HTML)
		}
	}
}

// problems of a fragment. seen has the ids of other fragments; those of this one are added.
func problems(f fragment.Fragment, seen map[string]string) []string {
	nodes, err := html.ParseFragment(strings.NewReader(string(f.HTML)), contextOf(string(f.HTML)))
	switch {
	case err != nil:
		return []string{err.Error()}
	case len(nodes) != 1 || nodes[0].Type != html.ElementNode || attribute(nodes[0], "id") != f.ID:
		return []string{fmt.Sprintf("it is parsed as %d nodes, want one element with that id", len(nodes))}
	}
	var all []string
	for n := range nodes[0].Descendants() {
		all = append(all, inline(n)...)
		if id := attribute(n, "id"); id != "" {
			if of, has := seen[id]; has {
				all = append(all, fmt.Sprintf("id %s is also in %s", id, of))
			}
			seen[id] = f.ID
		}
	}
	return append(all, inline(nodes[0])...)
}

// Document checks a complete page for violations of the content security policy and duplicate ids. Script and
// style files are allowed.
func Document(t testing.TB, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "script" && attribute(n, "src") != "" && n.FirstChild == nil {
			continue
		}
		for _, wrong := range inline(n) {
			t.Errorf("%s in the page", wrong)
		}
		if id := attribute(n, "id"); id != "" {
			if seen[id] {
				t.Errorf("id %s is there twice", id)
			}
			seen[id] = true
		}
	}
	return root
}

// inline returns what a strict content security policy forbids in an element.
func inline(n *html.Node) []string {
	if n.Type != html.ElementNode {
		return nil
	}
	var all []string
	if slices.Contains([]string{"script", "style", "iframe", "object", "embed", "base"}, n.Data) {
		all = append(all, "an element "+n.Data)
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
			all = append(all, "an attribute "+a.Key)
		case (a.Key == "href" || a.Key == "src" || a.Key == "action") &&
			(strings.Contains(a.Val, "//") || strings.HasPrefix(strings.ToLower(a.Val), "javascript:")):
			all = append(all, "a link to elsewhere: "+a.Val)
		}
	}
	return all
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// contextOf returns the element in which a browser parses a fragment: it drops parts of tables elsewhere.
func contextOf(fragment string) *html.Node {
	name, _, _ := strings.Cut(strings.TrimPrefix(fragment, "<"), " ")
	in := map[string]atom.Atom{
		"tr": atom.Tbody, "tbody": atom.Table, "thead": atom.Table, "td": atom.Tr, "th": atom.Tr,
		"option": atom.Select,
	}[name]
	if in == 0 {
		in = atom.Div
	}
	return &html.Node{Type: html.ElementNode, Data: in.String(), DataAtom: in}
}

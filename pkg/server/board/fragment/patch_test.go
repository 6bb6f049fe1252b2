package fragment

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func element(in, id, text string) Fragment {
	return Fragment{In: in, ID: id, HTML: template.HTML(fmt.Sprintf(`<p id="%s">%s</p>`, id, text))}
}

func TestDiff(t *testing.T) {
	a, b, c := element("list", "a", "1"), element("list", "b", "1"), element("list", "c", "1")
	set := func(all ...Fragment) map[string]string {
		m := map[string]string{}
		for _, f := range all {
			m[f.ID] = string(f.Element())
		}
		return m
	}
	order := func(ids ...string) map[string][]string { return map[string][]string{"list": ids} }
	changed := element("list", "b", "2")
	for name, tt := range map[string]struct {
		reason    string
		sent, now []Fragment
		want      Patch
	}{
		"nothing": {"an empty page stays so", nil, nil, Patch{}},
		"same":    {"what has not changed is not sent", []Fragment{a, b}, []Fragment{a, b}, Patch{}},
		"first":   {"a browser that shows nothing gets all", nil, []Fragment{a}, Patch{order("a"), set(a)}},
		"changed": {"the order is the same", []Fragment{a, b, c}, []Fragment{a, changed, c},
			Patch{Set: set(changed)}},
		"moved": {"moving needs no HTML", []Fragment{a, b}, []Fragment{b, a}, Patch{Order: order("b", "a")}},
		"added": {"only the new one is sent", []Fragment{a, c}, []Fragment{a, b, c},
			Patch{order("a", "b", "c"), set(b)}},
		"removed": {"the order says who is gone", []Fragment{a, b}, []Fragment{a}, Patch{Order: order("a")}},
		"emptied": {"a container without fragments is one with an empty order", []Fragment{a}, nil,
			Patch{Order: order()}},
		"elsewhere": {"an element moves with its HTML", []Fragment{a, b},
			[]Fragment{a, element("other", "b", "1")},
			Patch{Order: map[string][]string{"list": {"a"}, "other": {"b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, state := Diff(StateOf(tt.sent), tt.now)
			if got.Empty() != (len(tt.want.Order)+len(tt.want.Set) == 0) {
				t.Errorf("%s: Empty is %v", tt.reason, got.Empty())
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", tt.reason, diff)
			}
			if state.Digest() != StateOf(tt.now).Digest() {
				t.Error("the state is not that of the page as it is now")
			}
		})
	}
}

// browser does what board.js does.
type browser struct {
	containers map[string][]string
	elements   map[string]string
}

func (b *browser) apply(t *testing.T, message []byte) {
	t.Helper()
	var p Patch
	if err := json.Unmarshal(message, &p); err != nil {
		t.Fatal(err)
	}
	maps.Copy(b.elements, p.Set)
	for in, order := range p.Order {
		for other, held := range b.containers { // an element is in one container
			b.containers[other] = slices.DeleteFunc(held, func(id string) bool { return slices.Contains(order, id) })
		}
		b.containers[in] = order
	}
	held := slices.Concat(slices.Collect(maps.Values(b.containers))...)
	maps.DeleteFunc(b.elements, func(id, _ string) bool { return !slices.Contains(held, id) })
}

// TestPatchesGiveThePage plays random pages, of which a browser misses some: each patch gives exactly the
// page, and has nothing that was the same.
func TestPatchesGiveThePage(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 17))
		b := &browser{map[string][]string{}, map[string]string{}}
		var state State
		for step := range 12 {
			page := randomPage(r)
			if err := Check(page); err != nil {
				t.Fatal(err)
			}
			if r.IntN(3) == 0 { // nobody looked
				continue
			}
			before := maps.Clone(b.elements)
			orders := maps.Clone(b.containers)
			patch, next := Diff(state, page)
			message, err := patch.Encode()
			if err != nil || strings.Contains(string(message), "\n") {
				t.Fatalf("%q: %v", message, err)
			}
			b.apply(t, message)
			state = next
			want := &browser{map[string][]string{}, map[string]string{}}
			for _, f := range page {
				want.containers[f.In] = append(want.containers[f.In], f.ID)
				want.elements[f.ID] = string(f.Element())
			}
			maps.DeleteFunc(b.containers, func(_ string, held []string) bool { return len(held) == 0 })
			if diff := cmp.Diff(want, b, cmp.AllowUnexported(browser{})); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
			for id, html := range patch.Set {
				if before[id] == html {
					t.Errorf("seed %d, step %d: %s was sent though it is the same", seed, step, id)
				}
			}
			for in, order := range patch.Order {
				if slices.Equal(orders[in], order) {
					t.Errorf("seed %d, step %d: the order of %s was sent though it is the same", seed, step, in)
				}
			}
		}
	}
}

func randomPage(r *rand.Rand) []Fragment {
	var page []Fragment
	for _, n := range r.Perm(r.IntN(8)) {
		page = append(page, element(fmt.Sprintf("list-%d", r.IntN(3)), fmt.Sprint("e", n), fmt.Sprint(r.IntN(3))))
	}
	return page
}

// TestDigest: pages that differ in anything that is seen have different digests, and the digest does not
// depend on the order in which containers are rendered.
func TestDigest(t *testing.T) {
	a, b := element("one", "a", "1"), element("two", "b", "1")
	same := StateOf([]Fragment{a, b}).Digest()
	if got := StateOf([]Fragment{b, a}).Digest(); got != same {
		t.Error("the digest depends on the order of containers")
	}
	if (State{}).Digest() != StateOf(nil).Digest() {
		t.Error("a page without fragments is not as one of which nothing was sent")
	}
	c := element("one", "c", "1")
	for name, page := range map[string][]Fragment{
		"text": {element("one", "a", "2"), b}, "less": {a}, "container": {a, element("one", "b", "1")},
		"order": {a, c}, "other order": {c, a}, "none": nil,
	} {
		digest := StateOf(page).Digest()
		if digest == same {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if StateOf([]Fragment{a, c}).Digest() == StateOf([]Fragment{c, a}).Digest() {
		t.Error("the digest does not depend on the order in a container")
	}
}

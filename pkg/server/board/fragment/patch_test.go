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
	d := element("list", "d", "1")
	set := func(all ...Fragment) map[string]string {
		m := map[string]string{}
		for _, f := range all {
			m[f.ID] = string(f.Element())
		}
		return m
	}
	order := func(ids ...string) map[string][]string { return map[string][]string{"list": ids} }
	move := func(places ...Move) map[string][]Move { return map[string][]Move{"list": places} }
	changed := element("list", "b", "2")
	for name, tt := range map[string]struct {
		reason    string
		sent, now []Fragment
		want      Patch
	}{
		"nothing": {"an empty page stays so", nil, nil, Patch{}},
		"same":    {"what has not changed is not sent", []Fragment{a, b}, []Fragment{a, b}, Patch{}},
		"first": {"a browser that shows nothing gets all", nil, []Fragment{a},
			Patch{Order: order("a"), Set: set(a)}},
		"changed": {"the order is the same", []Fragment{a, b, c}, []Fragment{a, changed, c},
			Patch{Set: set(changed)}},
		"moved": {"moving needs no HTML", []Fragment{a, b}, []Fragment{b, a}, Patch{Move: move(Move{"b", "a"})}},
		"moved far": {"only one has to move, whatever lies between", []Fragment{a, b, c, d}, []Fragment{b, c, d, a},
			Patch{Move: move(Move{"a", ""})}},
		"turned round": {"the whole order is shorter", []Fragment{a, b, c, d}, []Fragment{d, c, b, a},
			Patch{Order: order("d", "c", "b", "a")}},
		"added": {"only the new one is sent", []Fragment{a, c}, []Fragment{a, b, c},
			Patch{Move: move(Move{"b", "c"}), Set: set(b)}},
		"removed": {"the others stay", []Fragment{a, b}, []Fragment{a}, Patch{Gone: []string{"b"}}},
		"emptied": {"a container need not be named", []Fragment{a}, nil, Patch{Gone: []string{"a"}}},
		"elsewhere": {"an element moves with its HTML", []Fragment{a, b},
			[]Fragment{a, element("other", "b", "1")}, Patch{Order: map[string][]string{"other": {"b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, state := Diff(StateOf(tt.sent), tt.now)
			if got.Empty() != cmp.Equal(tt.want, Patch{}) {
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

// browser applies patches like board.js.
type browser struct {
	containers map[string][]string
	elements   map[string]string
	moves      int
}

func (b *browser) apply(t *testing.T, message []byte) {
	t.Helper()
	var p Patch
	if err := json.Unmarshal(message, &p); err != nil {
		t.Fatal(err)
	}
	maps.Copy(b.elements, p.Set)
	for in, held := range b.containers {
		b.containers[in] = slices.DeleteFunc(held, func(id string) bool {
			return slices.Contains(p.Gone, id) || p.All && !slices.Contains(p.Order[in], id)
		})
	}
	for in, order := range p.Order {
		for i := range order {
			b.put(in, order[len(order)-1-i], append(order, "")[len(order)-i])
		}
	}
	for in, places := range p.Move {
		for _, place := range places {
			b.put(in, place.ID, place.Before)
			b.moves++
		}
	}
	held := slices.Concat(slices.Collect(maps.Values(b.containers))...)
	maps.DeleteFunc(b.elements, func(id, _ string) bool { return !slices.Contains(held, id) })
}

// put an element before another; an element is in one container.
func (b *browser) put(in, id, before string) {
	for other, held := range b.containers {
		b.containers[other] = slices.DeleteFunc(held, func(held string) bool { return held == id })
	}
	at := slices.Index(b.containers[in], before)
	if at < 0 {
		at = len(b.containers[in])
	}
	b.containers[in] = slices.Insert(b.containers[in], at, id)
}

// TestPatchesGiveThePage: with random pages, missed updates and lost states, each patch gives exactly the
// page. With a known state it has no unchanged element.
func TestPatchesGiveThePage(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 17))
		b := &browser{map[string][]string{}, map[string]string{}, 0}
		var state State
		for step := range 12 {
			page := randomPage(r)
			if err := Check(page); err != nil {
				t.Fatal(err)
			}
			if r.IntN(3) == 0 { // a missed update
				continue
			}
			before := maps.Clone(b.elements)
			lost := r.IntN(4) == 0
			patch, next := Diff(state, page)
			if lost {
				patch, next = Whole(page)
			}
			message, err := patch.Encode()
			if err != nil || strings.Contains(string(message), "\n") {
				t.Fatalf("%q: %v", message, err)
			}
			b.apply(t, message)
			state = next
			want := &browser{map[string][]string{}, map[string]string{}, 0}
			for _, f := range page {
				want.containers[f.In] = append(want.containers[f.In], f.ID)
				want.elements[f.ID] = string(f.Element())
			}
			maps.DeleteFunc(b.containers, func(_ string, held []string) bool { return len(held) == 0 })
			if diff := cmp.Diff(want, b, cmp.AllowUnexported(browser{}), ignoreMoves); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
			if lost {
				continue
			}
			for id, html := range patch.Set {
				if before[id] == html {
					t.Errorf("seed %d, step %d: %s was sent though it is the same", seed, step, id)
				}
			}
		}
	}
}

var ignoreMoves = cmpopts.IgnoreFields(browser{}, "moves")

// TestFewMoves: elements that stay in order are not touched, however long the list is.
func TestFewMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for n := range 200 {
		var before []string
		for i := range 100 {
			before = append(before, fmt.Sprint(i))
		}
		now, moves := slices.Clone(before), 1+n%10
		for range moves {
			from, to := r.IntN(len(now)), r.IntN(len(now))
			id := now[from]
			now = slices.Insert(slices.Delete(now, from, from+1), to, id)
		}
		b := &browser{map[string][]string{"list": slices.Clone(before)}, map[string]string{}, 0}
		places := moved(before, now)
		for _, place := range places {
			b.put("list", place.ID, place.Before)
		}
		if got := b.containers["list"]; !slices.Equal(got, now) || len(places) > moves {
			t.Errorf("%d moves for %d, which give %v, want %v", len(places), moves, got, now)
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

// TestDigest: pages that look different have different digests. The digest does not depend on the order in
// which containers are rendered.
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

package fragment

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// State is the content of a browser's page, without the HTML. The zero State is empty.
type State struct {
	order    map[string][]string // ids by container
	versions map[string]string   // by id
}

// Patch turns one page into another. Its parts apply in the order of these fields; new elements get their
// place from Order or Move.
type Patch struct {
	// All is set if the page has nothing but Order. It is for a browser of unknown content.
	All bool `json:"all,omitempty"`
	// Set has the new and changed elements, by id, as Fragment.Element returns them.
	Set map[string]string `json:"set,omitempty"`
	// Gone are the ids of removed elements.
	Gone []string `json:"gone,omitempty"`
	// Order has the ids of all fragments of a container, if that is shorter than Move.
	Order map[string][]string `json:"order,omitempty"`
	// Move has the new and moved elements of a container, from the last to the first. The others stay
	// untouched.
	Move map[string][]Move `json:"move,omitempty"`
}

// Move an element to its place in its container.
type Move struct {
	// ID of the element. Before is the id of the next one; empty: it is the last one.
	ID, Before string
}

// MarshalJSON encodes it as a pair, since ids are most of a small patch.
func (p Move) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{p.ID, p.Before}) }

// UnmarshalJSON reads a pair.
func (p *Move) UnmarshalJSON(data []byte) error {
	var pair [2]string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	p.ID, p.Before = pair[0], pair[1]
	return nil
}

// Empty reports whether there is no change.
func (p Patch) Empty() bool {
	return !p.All && len(p.Set) == 0 && len(p.Gone) == 0 && len(p.Order) == 0 && len(p.Move) == 0
}

// Encode the patch as JSON on one line.
func (p Patch) Encode() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // it is not part of a page; a third shorter
	if err := encoder.Encode(p); err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// StateOf returns the state of a page with these fragments.
func StateOf(all []Fragment) State {
	s := State{order: map[string][]string{}, versions: make(map[string]string, len(all))}
	for _, f := range all {
		s.order[f.In] = append(s.order[f.In], f.ID)
		s.versions[f.ID] = f.Version()
	}
	return s
}

// Whole returns the patch that turns any page into the current one, and the State after it.
func Whole(now []Fragment) (Patch, State) {
	next := StateOf(now)
	p := Patch{All: true, Order: next.order, Set: make(map[string]string, len(now))}
	for _, f := range now {
		p.Set[f.ID] = string(f.Element())
	}
	return p, next
}

// Part returns the patch that updates only the containers of some fragments. The State after it has only
// these.
func Part(sent State, now []Fragment) (Patch, State) {
	p, next := Diff(sent, now)
	for in, held := range sent.order {
		if _, has := next.order[in]; !has {
			p.Gone = slices.DeleteFunc(p.Gone, func(id string) bool { return slices.Contains(held, id) })
		}
	}
	return p, next
}

// Diff returns the patch that turns a sent page into the current one, and the State after it. It changes
// neither argument.
func Diff(sent State, now []Fragment) (Patch, State) {
	next := StateOf(now)
	p := Patch{Order: map[string][]string{}, Move: map[string][]Move{}, Set: map[string]string{}}
	for _, f := range now {
		if sent.versions[f.ID] != next.versions[f.ID] {
			p.Set[f.ID] = string(f.Element())
		}
	}
	for id := range sent.versions {
		if _, stays := next.versions[id]; !stays {
			p.Gone = append(p.Gone, id)
		}
	}
	slices.Sort(p.Gone)
	for in, order := range next.order {
		switch places := moved(sent.order[in], order); {
		case len(places) == 0:
		case 2*len(places) > len(order):
			p.Order[in] = order
		default:
			p.Move[in] = places
		}
	}
	return p, next
}

// Digest of a page: pages with the same digest have the same content.
func (s State) Digest() string {
	h := sha256.New()
	for _, in := range slices.Sorted(maps.Keys(s.order)) {
		fmt.Fprintf(h, "%s\n", in) // no id has a space or a newline
		for _, id := range s.order[in] {
			fmt.Fprintf(h, " %s %s\n", id, s.versions[id])
		}
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

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

// State is what a browser shows, without the HTML itself. The zero State shows nothing.
type State struct {
	order    map[string][]string // ids by container
	versions map[string]string   // by id
}

// Patch turns one page into another. Who applies it takes its parts in the order in which they stand here,
// but for new elements, which have no place before they are moved.
type Patch struct {
	// All says that the page has nothing but what Order has. It is so for a browser of which nobody knows what
	// it shows.
	All bool `json:"all,omitempty"`
	// Set has the elements that are new or have changed, by id, as Fragment.Element has them.
	Set map[string]string `json:"set,omitempty"`
	// Gone are the ids of elements that are no longer there.
	Gone []string `json:"gone,omitempty"`
	// Order has the ids of all fragments of a container, where that is shorter than Move.
	Order map[string][]string `json:"order,omitempty"`
	// Move has the elements of a container that are new there or elsewhere in it now, from the last to the
	// first. All others stay, and need not be touched.
	Move map[string][]Move `json:"move,omitempty"`
}

// Move an element to its place in its container.
type Move struct {
	// ID of the element. Before is the id of the one that follows it; empty: it is the last one.
	ID, Before string
}

// MarshalJSON makes a pair of it, as ids are most of a small patch.
func (p Move) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{p.ID, p.Before}) }

// UnmarshalJSON reads such a pair.
func (p *Move) UnmarshalJSON(data []byte) error {
	var pair [2]string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	p.ID, p.Before = pair[0], pair[1]
	return nil
}

// Empty reports whether there is nothing to do.
func (p Patch) Empty() bool {
	return !p.All && len(p.Set) == 0 && len(p.Gone) == 0 && len(p.Order) == 0 && len(p.Move) == 0
}

// Encode the patch as JSON on one line.
func (p Patch) Encode() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // it is no part of a page, and a third shorter so
	if err := encoder.Encode(p); err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// StateOf a page that has these fragments.
func StateOf(all []Fragment) State {
	s := State{order: map[string][]string{}, versions: make(map[string]string, len(all))}
	for _, f := range all {
		s.order[f.In] = append(s.order[f.In], f.ID)
		s.versions[f.ID] = f.Version()
	}
	return s
}

// Whole returns what turns any page into what it is now, and the State after that.
func Whole(now []Fragment) (Patch, State) {
	next := StateOf(now)
	p := Patch{All: true, Order: next.order, Set: make(map[string]string, len(now))}
	for _, f := range now {
		p.Set[f.ID] = string(f.Element())
	}
	return p, next
}

// Part returns what turns the containers of some fragments into what they are now, and leaves all others as
// they are: the State after that has nothing of them.
func Part(sent State, now []Fragment) (Patch, State) {
	p, next := Diff(sent, now)
	for in, held := range sent.order {
		if _, has := next.order[in]; !has {
			p.Gone = slices.DeleteFunc(p.Gone, func(id string) bool { return slices.Contains(held, id) })
		}
	}
	return p, next
}

// Diff returns what turns a page that was sent into what it is now, and the State after that. Neither the
// State nor the fragments are changed.
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

// Digest of a page: a browser whose page has the same one shows the same.
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

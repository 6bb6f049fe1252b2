package apiserver

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// key of an object in its collection.
type key struct{ namespace, name string }

// version is one state of an object. It never changes.
type version struct {
	key key
	uid types.UID
	// number is the resource version.
	number uint64
	labels labels.Set
	// node and phase of a pod.
	node, phase string
	// stored is the object in its resource's stored format.
	stored []byte
}

// change of an object. Those of a collection are a list, of which each reader holds the last that it has
// read: what no reader needs any more is garbage.
type change struct {
	kind watch.EventType
	// before is nil for an object that is new. now of one that is gone is its last state, with the number of its
	// deletion.
	before, now *version
	// sent are the frames that tell watchers of it.
	sent [formats]frame
	// ready is closed once next is set.
	ready chan struct{}
	next  *change
}

// keptChanges is how many changes a collection keeps for watches that begin with an old version.
const keptChanges = 10_000

// collection holds the objects of a resource.
type collection struct {
	resource Resource
	// clock of resource versions, shared by all collections.
	clock *atomic.Uint64
	// kept is keptChanges, but in tests.
	kept int

	mu      sync.Mutex
	objects map[key]*version
	// first and last of the changes that are kept; first itself has been read by everybody.
	first, last *change
	length      int
}

func newCollection(r Resource, clock *atomic.Uint64) *collection {
	origin := &change{now: &version{number: clock.Load()}, ready: make(chan struct{})}
	return &collection{
		resource: r, clock: clock, kept: keptChanges, objects: map[key]*version{}, first: origin, last: origin,
	}
}

// get an object; nil: there is none.
func (c *collection) get(k key) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[k]
}

// snapshot of the objects that are meant, sorted, with the number of the state they are in, and the last
// change.
func (c *collection) snapshot(of selector) ([]*version, uint64, *change) {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.objects))
	number, last := c.clock.Load(), c.last
	c.mu.Unlock()
	all = slices.DeleteFunc(all, func(v *version) bool { return !of.matches(v) })
	slices.SortFunc(all, func(a, b *version) int {
		if n := strings.Compare(a.key.namespace, b.key.namespace); n != 0 {
			return n
		}
		return strings.Compare(a.key.name, b.key.name)
	})
	return all, number, last
}

// since returns the last change that a client knows which knows a resource version; false: that is so old
// that changes after it are no longer kept.
func (c *collection) since(number uint64) (*change, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number < c.first.now.number {
		return nil, false
	}
	at := c.first
	for at.next != nil && at.next.now.number <= number {
		at = at.next
	}
	return at, true
}

// commit replaces what is there by an object, or removes it where gone; nil: there was none. It returns false
// and changes nothing where something else is there by now.
func (c *collection) commit(k key, had *version, obj runtime.Object, gone bool) (*version, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[k] != had {
		return nil, false, nil
	}
	v, err := c.resource.newVersion(k, obj, c.clock.Add(1))
	if err != nil {
		return nil, false, err
	}
	kind := watch.Modified
	switch {
	case gone:
		kind = watch.Deleted
		delete(c.objects, k)
	case had == nil:
		kind = watch.Added
		fallthrough
	default:
		c.objects[k] = v
	}
	c.append(&change{kind: kind, before: had, now: v, ready: make(chan struct{})})
	return v, true, nil
}

func (c *collection) append(next *change) {
	c.last.next = next
	close(c.last.ready)
	c.last = next
	for c.length++; c.length > c.kept; c.length-- {
		c.first = c.first.next
	}
}

// newVersion gives an object its resource version, and encodes it.
func (r Resource) newVersion(k key, obj runtime.Object, number uint64) (*version, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(strconv.FormatUint(number, 10))
	stored, err := r.encode(obj, r.stored())
	if err != nil {
		return nil, err
	}
	node, phase := podFields(obj)
	return &version{
		key: k, uid: accessor.GetUID(), number: number, labels: accessor.GetLabels(), node: node, phase: phase,
		stored: stored,
	}, nil
}

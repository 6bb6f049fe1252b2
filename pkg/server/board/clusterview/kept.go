package clusterview

import (
	"encoding/binary"
	"sync"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// maxKept tiles of about 1 KB. A cluster of 1,250 nodes has as many for each query, such as a selected gang.
const maxKept = 20_000

// Tiles caches the drawings of nodes, so that small changes are cheap and viewers share them. Pages are the
// same without it. Its methods are safe for concurrent use; the zero value is ready.
type Tiles struct {
	mu   sync.Mutex
	kept map[string]fragment.Fragment
}

func (t *Tiles) get(key []byte) (fragment.Fragment, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, known := t.kept[string(key)]
	return f, known
}

func (t *Tiles) put(key []byte, f fragment.Fragment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil || len(t.kept) >= maxKept {
		t.kept = map[string]fragment.Fragment{}
	}
	t.kept[string(key)] = f
}

// tileKey appends everything that a tile depends on: equal keys have equal tiles.
func (v *View) tileKey(key []byte, n *placement.NodeUse) []byte {
	text := func(s string) { key = append(binary.AppendUvarint(key, uint64(len(s))), s...) }
	amount := func(n int64) { key = binary.AppendVarint(key, n) }
	flag := func(is bool) {
		if is {
			amount(1)
		} else {
			amount(0)
		}
	}
	text(v.Query.at("").URL()) // with the selected gang
	text(n.Name)
	flag(v.Query.Node == n.Name)
	flag(v.Map.NodesKnown)
	flag(v.Map.HoldersKnown)
	text(sizeClass(v.Map.Totals.Nodes))
	for _, of := range []int64{n.GPUs, n.Used, n.Free, n.Unusable, int64(len(n.Reasons))} {
		amount(of)
	}
	for _, r := range n.Reasons {
		text(string(r))
	}
	for _, h := range n.Holders {
		amount(h.GPUs)
		if h.Gang < 0 {
			text("")
			continue
		}
		g := &v.Map.Gangs[h.Gang]
		text(string(g.UID))
		text(g.Namespace)
		text(g.Name)
		amount(int64(len(h.Ranks)))
		for _, r := range h.Ranks {
			text(r.Role)
			amount(int64(r.Index))
			text(string(r.State))
		}
	}
	return key
}

//go:build cluster

package board

import (
	"testing"
)

func TestTry(t *testing.T) {
	b := start(t)
	for _, n := range []int{8, 30} {
		v := Visit{Page: Pages()[2], Load: Load{Jobs: 500}, How: Live, Updates: n}
		r, err := v.run(t.Context(), b, FullSize)
		must(t, err)
		t.Logf("%d: %d nodes, %d in a new page; heap %d %d; touched %d", n, r.After.Nodes, r.Anew.Nodes, r.After.Heap>>10, r.Anew.Heap>>10, r.Touched)
	}
}

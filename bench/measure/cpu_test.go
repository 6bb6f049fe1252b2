package measure

import "testing"

func TestParseStat(t *testing.T) {
	name, parent, ticks, err := parseStat([]byte("4711 (kube (odd) name) S 42 1 1 0 -1 4194560 900 0 0 0 " +
		"250 17 0 0 20 0 9 0 100 1 2"))
	if err != nil || name != "kube (odd) name" || parent != 42 || ticks != 267 {
		t.Errorf("got %q, parent %d, %d ticks, %v", name, parent, ticks, err)
	}
	for _, bad := range []string{"", "1 kube S 1", "1 (kube) S x 1 1 0 -1 0 0 0 0 0 1 1"} {
		if _, _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

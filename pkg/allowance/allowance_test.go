package allowance

import (
	"testing"
	"time"
)

var start = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// taken is how many events of a key there are at a time, of at most ten.
func taken(p *PerKey, key string, now time.Time) int {
	n := 0
	for n < 10 && p.Take(key, now) {
		n++
	}
	return n
}

func TestPerKey(t *testing.T) {
	p := NewPerKey(time.Second, 3, 2)
	if n := taken(p, "a", start); n != 3 {
		t.Errorf("a burst of %d, want 3", n)
	}
	if n := taken(p, "b", start); n != 3 {
		t.Errorf("another key has %d, want its own 3", n)
	}
	if n := taken(p, "a", start.Add(2*time.Second)); n != 2 {
		t.Errorf("%d came back in two seconds, want 2", n)
	}
	p.GiveBack("a")
	if n := taken(p, "a", start.Add(2*time.Second)); n != 1 {
		t.Errorf("%d were given back, want 1", n)
	}
	if n := taken(p, "a", start.Add(time.Hour)); n != 3 {
		t.Errorf("%d after an hour, want no more than the burst", n)
	}
	if taken(p, "c", start); taken(p, "b", start) != 3 {
		t.Error("the key that was unused for longest is to be forgotten")
	}
}

package layouts

import (
	"maps"
	"slices"
	"testing"
)

// TestMoments replays a save that writes a temporary file, renames its directory, and replaces a tracker.
func TestMoments(t *testing.T) {
	tree := &Tree{
		Saves: []Save{
			{Step: 10, Events: []string{"open latest", "close latest"}},
			{Step: 20, Events: []string{
				"mkdir tmp", "open tmp/a", "close tmp/a", "move tmp 20", "open latest", "close latest",
			}},
		},
		contents: map[string][]byte{
			"10/latest": []byte("10"), "20/latest": []byte("20"), "20/20/a": []byte("abcd"),
		},
	}
	moments, err := tree.Moments()
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{
		{"latest": "1"}, {"latest": "10"},
		{"latest": "10", "tmp/": ""}, {"latest": "10", "tmp/a": "ab"}, {"latest": "10", "tmp/a": "abcd"},
		{"latest": "10", "20/a": "abcd"}, {"latest": "2", "20/a": "abcd"}, {"latest": "20", "20/a": "abcd"},
	}
	for i, m := range moments {
		isEqual := func(have []byte, text string) bool { return string(have) == text }
		if !maps.EqualFunc(m.Files, want[i], isEqual) {
			t.Errorf("after %s there is %q, not %q", m.Event, m.Files, want[i])
		}
		if isLast := slices.Contains([]int{1, 7}, i); m.Last != isLast {
			t.Errorf("%s is the last event of a save: %t", m.Event, m.Last)
		}
	}
	if len(moments) != len(want) {
		t.Errorf("got %d moments", len(moments))
	}
}

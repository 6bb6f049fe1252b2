package spec

import "testing"

func TestIndexes(t *testing.T) {
	for text, indexes := range map[string][]int32{
		"": nil, "0": {0}, "0-3,7": {0, 1, 2, 3, 7}, "1,3,5-6": {1, 3, 5, 6},
	} {
		if got := FormatIndexes(indexes); got != text {
			t.Errorf("format %v: %q, want %q", indexes, got, text)
		}
		set := ParseIndexes(text)
		if len(set) != len(indexes) {
			t.Errorf("parse %q: %v, want %v", text, set, indexes)
		}
		for _, i := range indexes {
			if !set.Has(i) {
				t.Errorf("parse %q: %d is not in it", text, i)
			}
		}
	}
	if got := ParseIndexes("x,2-y,4"); len(got) != 1 || !got.Has(4) {
		t.Errorf("parts that make no sense must be left out, got %v", got)
	}
	if got := ParseIndexes("0-2147483647,5,-1"); len(got) != 1 || !got.Has(5) {
		t.Errorf("indexes that no rank has must be left out, got %d", len(got))
	}
}

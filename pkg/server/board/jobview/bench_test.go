package jobview

import "testing"

// BenchmarkPage renders the page of a viewer, at most once a second.
func BenchmarkPage(b *testing.B) {
	in := preemptedTwice("bert").input()
	for b.Loop() {
		v := Of(in)
		if _, err := v.Fragments(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThousandRanks renders the update for one changed rank.
func BenchmarkThousandRanks(b *testing.B) {
	_, in := thousandRanks()
	for b.Loop() {
		v := RanksOf(in)
		if _, err := v.Fragments(); err != nil {
			b.Fatal(err)
		}
	}
}

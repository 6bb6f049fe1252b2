package jobview

import "testing"

// BenchmarkPage renders what one viewer is sent at most once a second.
func BenchmarkPage(b *testing.B) {
	in := preemptedTwice("bert").input()
	for b.Loop() {
		v := Of(in)
		if _, err := v.Fragments(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThousandRanks renders what one change of a rank causes.
func BenchmarkThousandRanks(b *testing.B) {
	_, in := thousandRanks()
	for b.Loop() {
		v := RanksOf(in)
		if _, err := v.Fragments(); err != nil {
			b.Fatal(err)
		}
	}
}

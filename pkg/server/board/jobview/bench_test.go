package jobview

import "testing"

// BenchmarkPage renders what one viewer is sent at most once a second.
func BenchmarkPage(b *testing.B) {
	for name, in := range map[string]Input{
		"preempted-twice": preemptedTwice("bert").input(), "thousand-ranks": thousandRanks(),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				v := Of(in)
				if _, err := v.Fragments(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

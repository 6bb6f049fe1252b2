package scheduler_test

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestAbout(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 99: "99", 100: "about 100", 104: "about 100", 105: "about 110", 999: "about 1000",
		1249: "about 1200", 10_000: "about 10000", 123_456: "about 120000",
	} {
		if got := scheduler.About(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

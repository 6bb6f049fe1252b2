package framework

import "testing"

func TestReads(t *testing.T) {
	cases := map[string]struct {
		least, version string
		want           bool
	}{
		"the first":            {"1.9", "1.9", true},
		"numbers, not texts":   {"1.9", "1.13.1", true},
		"a later major number": {"1.9", "2.0", true},
		"an earlier minor one": {"1.9", "1.8.2", false},
		"an earlier major one": {"1.9", "0.99", false},
		"a build":              {"1.9", "1.8-cu111", false},
		"any version":          {"", "0.1", true},
		"nothing known":        {"1.9", "latest", true},
	}
	for name, c := range cases {
		if got := (Framework{MinVersion: c.least}).Reads(c.version); got != c.want {
			t.Errorf("%s: %s of at least %s: %t, want %t", name, c.version, c.least, got, c.want)
		}
	}
	for _, f := range All() {
		if _, ok := parseVersion(f.MinVersion); f.MinVersion != "" && !ok {
			t.Errorf("%s: MinVersion %q is not major.minor", f.Name, f.MinVersion)
		}
	}
}

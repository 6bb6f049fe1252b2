package report

import (
	"flag"
	"testing"
)

var keep = flag.String("keep", "", "a folder to leave a report of synthetic results in")

func TestWrite(t *testing.T) {
	dir := *keep
	if dir == "" {
		dir = t.TempDir()
	}
	r := synthetic{tenStacks(), threeWorkloads(), 5}.results()
	if err := Write(dir, r); err != nil {
		t.Fatal(err)
	}
}

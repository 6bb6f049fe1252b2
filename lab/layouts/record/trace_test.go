package main

import (
	"slices"
	"strings"
	"testing"
)

// TestTrace reads calls as strace writes them: from two threads, relative to a directory, and failed ones.
func TestTrace(t *testing.T) {
	const log = `
7  mkdir("/v/step-10", 0777)         = 0
8  mkdir("/v/step-10", 0777)         = -1 EEXIST (File exists)
7  openat(AT_FDCWD</root/opt>, "/v/step-10/.metadata.tmp", O_WRONLY|O_CREAT, 0666 <unfinished ...>
8  openat(AT_FDCWD</root/opt>, "/v/step-10/a", O_RDONLY|O_CLOEXEC) = 5</root/v/step-10/a>
8  close(5</root/v/step-10/a>)       = 0
7  <... openat resumed>)             = 4</root/v/step-10/.metadata.tmp>
7  close(4</root/v/step-10/.metadata.tmp> <unfinished ...>
7  <... close resumed>)              = 0
7  rename("/v/step-10/.metadata.tmp", "/v/step-10/.metadata") = 0
9  unlinkat(6</root/v/step-10>, "b", 0) = 0
9  +++ exited with 0 +++
`
	want := []string{
		"mkdir /v/step-10", "open /v/step-10/.metadata.tmp", "close /v/step-10/.metadata.tmp",
		"move /v/step-10/.metadata.tmp /v/step-10/.metadata", "delete /v/step-10/b",
	}
	var got []string
	err := trace(strings.NewReader(log), "/root", func(op string, paths ...string) {
		got = append(got, op+" "+strings.Join(paths, " "))
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

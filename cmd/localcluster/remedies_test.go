package main

import (
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// The commands that messages name as remedies are commands of this program, with flags that it has.
func TestRemediesAreCommands(t *testing.T) {
	for _, line := range []string{
		localcluster.DownCommand("/tmp/cluster"),
		localcluster.Command("/tmp/cluster-kueue", "demo", "--scheduler", "kueue"),
	} {
		words := strings.Fields(line)
		if words[0] != "bin/localcluster" {
			t.Errorf("%s: make build does not make %s", line, words[0])
		}
		cmd, rest, err := newCommand().Find(words[1:])
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if args := cmd.Flags().Args(); cmd.Parent() == nil || len(args) > 0 {
			t.Errorf("%s: no command, or arguments %v", line, args)
		}
	}
}

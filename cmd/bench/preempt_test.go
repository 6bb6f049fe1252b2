package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPreempt(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "jobs.csv")
	rows := "job,ranks,submit_seconds,duration_seconds\na,4,0,3600\nb,16,600,7200\n"
	if err := os.WriteFile(trace, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	small := []string{"--nodes=8", "--for=6h", "--seeds=3", "--interval=10m"}
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"random gangs":     {small, "| coscheduling "},
		"gangs of a trace": {append(small, "--trace="+trace), "| coscheduling "},
		"no seeds":         {[]string{"--seeds=0"}, "--seeds must be above 0"},
		"no interval":      {[]string{"--interval=-1m"}, "--interval is -1m0s: it must be above 0"},
		"no share":         {[]string{"--high=2"}, "--high is 2: it must be from 0 to 1"},
		"no window":        {[]string{"--trace=" + trace, "--rows=1"}, "--rows takes two numbers"},
		"no trace":         {[]string{"--trace=" + trace + "x"}, "opening the trace"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newPreempt()
			var out strings.Builder
			cmd.SetArgs(test.args)
			cmd.SetOut(&out)
			cmd.SetErr(io.Discard)
			if err := cmd.Execute(); err != nil {
				out.WriteString(err.Error())
			}
			if !strings.Contains(out.String(), test.says) {
				t.Errorf("it does not say %q:\n%s", test.says, out.String())
			}
		})
	}
}

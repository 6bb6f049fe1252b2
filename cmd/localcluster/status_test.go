package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func TestPrintStatus(t *testing.T) {
	now := time.Unix(10_000, 0)
	var out strings.Builder
	err := printStatus(&out, localcluster.Status{
		Processes: []localcluster.ProcessStatus{
			{Name: "etcd", PID: 7, Running: true, Started: now.Add(-90 * time.Second)},
			{Name: "kwok", PID: 8, Stopped: true},
			{Name: "vc-scheduler", PID: 9},
		},
		Nodes: []localcluster.NodeStatus{{Name: "node-0", Ready: true, GPUs: 8}, {Name: "node-1", GPUs: 8}},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := `PROCESS        PID   STATE     UPTIME
etcd           7     Running   90s
kwok           8     Stopped   -
vc-scheduler   9     Dead      -

NODE     READY   GPUS
node-0   Yes     8
node-1   No      8
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusWithoutAClusterHasItsExitCode(t *testing.T) {
	var out strings.Builder
	cmd := newCommand()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"status", "--dir", t.TempDir()})
	err := cmd.Execute()
	var code exitCode
	if !errors.As(err, &code) || code != exitNoCluster ||
		!strings.Contains(out.String(), "There is no cluster") {
		t.Errorf("got %v, printed %q", err, out.String())
	}
}

func TestDownWithoutAClusterIsNoError(t *testing.T) {
	cmd := newCommand()
	cmd.SetOut(&strings.Builder{})
	cmd.SetArgs([]string{"down", "--dir", t.TempDir()})
	if err := cmd.Execute(); err != nil {
		t.Error(err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// TestRegistry: pkg/schedulers describes the backends, and every scheduler has examples and scenarios.
func TestRegistry(t *testing.T) {
	all := newBackends(config.Schedulers{})
	if len(all) != len(schedulers.All()) {
		t.Fatalf("%d backends, %d entries", len(all), len(schedulers.All()))
	}
	for i, e := range schedulers.All() {
		name := string(e.Name)
		if all[i].Name() != name {
			t.Errorf("entry %d is %s, the backend is %s: the order is that of preference", i, name, all[i].Name())
			continue
		}
		can := scheduler.Of(all[i])
		if brokers := can.Preemptor != nil && can.WaitingClasses; brokers != e.Brokers {
			t.Errorf("%s: Brokers is %t, by the backend's traits %t", name, e.Brokers, brokers)
		}
		scenarios := "test/conformance/testdata/scenarios-" + name + ".txt"
		for _, path := range []string{"examples/demo/" + name, scenarios} {
			if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, want := range map[string]string{
		volcano.Name: volcano.DefaultSchedulerName, coscheduling.Name: coscheduling.DefaultSchedulerName,
		native.Name: corev1.DefaultSchedulerName,
	} {
		if e, _ := schedulers.Find(name); e.PodSchedulerName != want {
			t.Errorf("%s: PodSchedulerName is %q, the backend's default is %q", name, e.PodSchedulerName, want)
		}
	}
}

// TestSchedulersWithoutQueues: the policies that treat such schedulers differently name all of them.
func TestSchedulersWithoutQueues(t *testing.T) {
	var names []string
	for _, e := range schedulers.All() {
		if e.QueueKey == "" {
			names = append(names, "'"+string(e.Name)+"'")
		}
	}
	slices.Sort(names)
	slices.Reverse(names) // as the policies list them
	list := "in [" + strings.Join(names, ", ") + "]"
	for _, path := range []string{"deploy/policies/tenants.yaml", "deploy/admission/queues.yaml"} {
		content, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), list) {
			t.Errorf("%s does not contain %q", path, list)
		}
	}
}

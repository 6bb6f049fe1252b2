package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// TestDefaultLifecycle: the core's defaults, which its tests play with, are those of the configuration.
func TestDefaultLifecycle(t *testing.T) {
	got := *lifecycle(config.Default().Lifecycle)
	if diff := cmp.Diff(observation.DefaultLifecycle(), got); diff != "" {
		t.Errorf("the configuration's defaults differ from the core's (-core +configuration):\n%s", diff)
	}
}

//go:build cluster

package gates

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// TestSmallScale is a small step on a real control plane.
func TestSmallScale(t *testing.T) { playSmall(t, localcluster.SchedulerNative) }

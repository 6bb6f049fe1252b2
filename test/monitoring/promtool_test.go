//go:build cluster

package monitoring

import (
	"os/exec"
	"strings"
	"testing"
)

// TestRulesFire plays alerts.yaml with promtool: each alert fires, and stays silent beside what it is not
// about.
func TestRulesFire(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "rules", shipped + "rules.yaml"},
		{"test", "rules", "alerts.yaml"},
	} {
		reported, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
		if err != nil || !strings.Contains(string(reported), "SUCCESS") {
			t.Errorf("promtool %s (test/e2e/install.sh installs it): %v\n%s", strings.Join(args, " "), err,
				reported)
		}
	}
}

package chart

import (
	"strings"
	"testing"
)

// TestLint: helm's own judgement, with warnings as errors.
func TestLint(t *testing.T) {
	for _, values := range [][]string{nil, {"--values", "testdata/everything.yaml"}} {
		lint := []string{"lint", folder, "--strict", "--namespace", namespace}
		out, err := run(t, "helm", append(lint, values...)...)
		if err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"[WARNING]", "[ERROR]"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q:\n%s", values, out)
			}
		}
	}
}

// TestRefuses: what would not work is refused before anything is installed, by a message that names the key.
func TestRefuses(t *testing.T) {
	const config = "config: {"
	for name, tc := range map[string]struct{ values, says string }{
		"a misspelt key":                 {"replica: 1", "'replica' not allowed"},
		"a misspelt key below":           {"image: {repo: x}", "'repo' not allowed"},
		"a misspelt key of the operator": {config + "worker: 3}", "'worker' not allowed"},
		"a misspelt key of a scheduler":  {config + "schedulers: {volcano: {wait: true}}}", "'wait' not allowed"},
		"a wrong type":                   {"replicas: two", "at '/replicas': got string, want integer"},
		"a wrong type of the operator":   {config + "workers: many}", "at '/config/workers': got string"},
		"a text for a switch":            {"crds: {install: 'yes'}", "at '/crds/install': got string"},
		"too many workers":               {config + "workers: 1000}", "at '/config/workers'"},
		"an unknown scheduler":           {config + "defaultScheduler: slurm}", "must be one of '', 'volcano'"},
		"reports without a certificate source": {"reports: {enabled: true}",
			"at '/reports/certificate/source': value must be one of 'certManager', 'secret'"},
		"reports by the configuration alone": {config + "reports: {bindAddress: ':9443'}}",
			"at '/reports/enabled': value must be true"},
		"reports on and off": {reportsOn + config + "reports: {bindAddress: '0'}}",
			"at '/reports/enabled': value must be false"},
		"a certificate without TLS": {"monitoring: {certificate: {source: secret}}\n" + config +
			"metrics: {secure: false}}", "at '/config/metrics/secure'"},
		"a mode of another version": {config + "preemption: {mode: Ask}}",
			"at '/config/preemption/mode': value must be one of 'Off', 'DryRun', 'Broker', false"},
		"two leaders":                  {config + "leaderElection: {enabled: false}}", "at '/replicas'"},
		"a misspelt key of the server": {"server: {config: {price: []}}", "'price' not allowed"},
		"a misspelt key within a list": {"server: {config: {prices: [{kind: a}]}}", "'kind' not allowed"},
		"a wrong retention": {"server: {config: {retention: {days: -1}}}",
			"at '/server/config/retention/days'"},
		"a price in words": {"server: {config: {prices: [{gpuKind: a, perGPUHour: cheap}]}}",
			"perGPUHour"},
		"two writers of one file":    {"server: {enabled: true, replicas: 2}", "SQLite's file has one writer"},
		"a certificate from nowhere": {"server: {certificate: {source: ''}}", "at '/server/certificate/source'"},
		"a reader without its namespace": {"monitoring: {reader: {name: prometheus}}",
			"at '/monitoring/reader/namespace'"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := render(t, tc.values); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("want %q, got %v", tc.says, err)
			}
		})
	}
}

//go:build cluster

package gates

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/bench/report"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// small is a workload that runs at once, and is left alone.
const small = `name: small
nodes: 20
gpusPerNode: 8
gangs: [{name: gang, count: 20, ranks: 8}]
end: Placed
idle: 5s
`

// TestSmallBenchmark is a benchmark as users run it, from the command to the report, and what the operator
// writes in it.
func TestSmallBenchmark(t *testing.T) {
	dir := t.TempDir()
	command(t, root, "go", "build", "-o", dir, "./cmd/bench")
	file, out := filepath.Join(dir, "small.yaml"), filepath.Join(dir, "results")
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	output := command(t, root, filepath.Join(dir, "bench"), "run", "--stack", "raw/volcano,ours/volcano",
		"--workload", file, "--rounds", "1", "--operator", harness.Program(t, "operator"), "--out", out)
	t.Log(output)
	if !strings.Contains(output, "warming up the machine") {
		t.Error("there was no warm-up before the first turn")
	}
	f, err := os.Open(filepath.Join(out, report.ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	results, err := report.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]int{}
	for _, run := range results.Runs {
		if run.Error != "" || run.CutAfter > 0 {
			t.Fatalf("%s was cut after %.0f s, error %q", run.Stack, run.CutAfter, run.Error)
		}
		played[run.Stack]++
		allRun(t, run)
		if run.Stack == "ours/volcano" {
			operatorWrites(t, run)
		}
	}
	if played["raw/volcano"] != 2 || played["ours/volcano"] != 1 {
		t.Errorf("played were %v, want the floor twice and ours once", played)
	}
	text, err := os.ReadFile(filepath.Join(out, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "| ours/volcano |") {
		t.Errorf("the report says nothing of ours:\n%s", text)
	}
	for _, pattern := range []string{"*.png", "*.svg"} {
		if plots, err := filepath.Glob(filepath.Join(out, "plots", pattern)); err != nil || len(plots) == 0 {
			t.Errorf("there are no plots %s: %v", pattern, err)
		}
	}
}

// allRun: every gang has gone all the way, and in order.
func allRun(t *testing.T, run result.Run) {
	t.Helper()
	for _, g := range run.Gangs {
		if g.Submitted < 0 || g.Created < g.Submitted || g.Bound < g.Admitted || g.Running < g.Bound {
			t.Errorf("%s: %+v", run.Stack, g)
		}
	}
}

// operatorWrites checks what the operator writes for gangs of 8 that nothing keeps waiting.
func operatorWrites(t *testing.T, run result.Run) {
	t.Helper()
	const program = "operator"
	jobs := len(run.Gangs)
	left := map[string]int{"create pods": 8 * jobs, "create podgroups": jobs, "create services": jobs,
		"create endpointslices": jobs}
	rest := 0
	for what, n := range run.Writes[program] {
		if want, exact := left[what]; !exact {
			rest += n
		} else if n != want {
			t.Errorf("%s: %d, want %d for %d jobs", what, n, want, jobs)
		}
		delete(left, what)
	}
	if len(left) > 0 {
		t.Errorf("missing are %v", left)
	}
	// A job that runs at once has a status for Queued and one for Running, and an event with the latter. On a
	// busy machine it also says meanwhile how many of its ranks run.
	if most := 4 * jobs; rest > most {
		t.Errorf("%d writes of status and events for %d jobs, want at most %d: %v", rest, jobs, most,
			run.Writes[program])
	}
	for what, n := range run.Writes["kube-controller-manager"] { // as it does for a Service with a selector
		if strings.Contains(what, "endpoint") {
			t.Errorf("kube-controller-manager is made to write: %d %s", n, what)
		}
	}
	if run.IdleWrites == nil {
		t.Error("the writes to the idle cluster were not counted")
	}
	for what, n := range run.IdleWrites[program] {
		t.Errorf("while nothing happens the operator wrote: %d %s", n, what)
	}
}

// command runs a program and returns its output.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

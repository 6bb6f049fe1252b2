package reasons

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elsewhere maps reasons why a job waits that tests of other packages provoke on a real scheduler to the file
// and function, which names the reason.
var elsewhere = map[string]string{
	"ReasonAdmissionCheckPending":   "test/quotas/kueue_test.go admissionCheck",
	"ReasonExceedsDomain":           "test/topology/fixture_test.go keeps",
	"ReasonPlacedAcross":            "test/topology/topology_test.go TestVolcanoWithoutPlugin",
	"ReasonRoomReserved":            "test/conformance/scenarios_broker_test.go holdsOthers",
	"ReasonSchedulingGated":         "test/quotas/kueue_multikueue_test.go gatedRanks",
	"ReasonTopologyNotServed":       "test/topology/fixture_test.go waitsForTopology",
	"ReasonWaitingBehind":           "test/quotas/kueue_test.go strictOrder",
	"kueue.ReasonDeactivated":       "scheduler/kueue/cluster_test.go TestProtocol",
	"kueue.ReasonFlavorMissing":     "test/quotas/kueue_reasons_test.go flavorGone",
	"kueue.ReasonPlacementConflict": "test/quotas/kueue_reasons_test.go contradiction",
	"kueue.ReasonWorkloadFinished":  "test/quotas/kueue_reasons_test.go finishedByHand",
	"kueue.ReasonWorkloadGone":      "test/quotas/kueue_reasons_test.go workloadGone",
	"kueue.ReasonPrebuiltNotFound":  "test/quotas/kueue_multikueue_test.go prebuiltWorkloads",
	"kueue.ReasonPrebuiltTaken":     "test/quotas/kueue_multikueue_test.go prebuiltWorkloads",
	"kueue.ReasonOutOfSync":         "test/quotas/kueue_multikueue_test.go prebuiltWorkloads",
}

// withoutScheduler are reasons in which no scheduler has a part. Unit tests cover them: TestAllowedSchedulers
// of pkg/controller, before the job has a scheduler, and the stories a-pod-hangs-on-a-ready-node, hang-*
// and rehearsal-* of pkg/trainingjob.
var withoutScheduler = []string{
	"ReasonSchedulerNotAllowed", "ReasonPodHangs", "ReasonGangHung", "ReasonSharedCause",
	"ReasonRestartDoesNotHelp", "ReasonRehearsalNeedsReports",
}

// changes are reasons of transitions, conditions and their events. The stories of pkg/trainingjob cover them.
// None may be the reason why a job waits; the test checks that.
var changes = []string{
	"ReasonQueued", "ReasonPlaced", "ReasonGangRunning", "ReasonCompleted", "ReasonInvalidSpec",
	"ReasonBackoffLimit", "ReasonPlacedWithin",
	"ReasonDeadlineExceeded", "ReasonRankFailed", "ReasonPermanentFailure", "ReasonPreempted",
	"ReasonEvicted", "ReasonPodDeleted",
	"ReasonPodVanished", "ReasonScheduleTimeout", "ReasonSpecChanged", "ReasonRestartRequested",
	"ReasonSuspended", "ReasonResumed",
	"ReasonBackoffOver", "ReasonDrained", "ReasonRankReplaced", "ReasonResolving", "ReasonCheckpointKnown",
	"ReasonNoCheckpoint",
	"ReasonUnresolved", "ReasonCheckpointLost", "ReasonPlaceChanged", "ReasonStepsRepeated",
	"ReasonStepsContinued", "ReasonSpecValid", "ReasonStartTimeout", "ReasonReportsOff", "ReasonReportsOn",
	"ReasonAccepted", "ReasonRanksReady", "ReasonRanksNotReady", "ReasonMakesRoom", "ReasonHandedOver",
	"ReasonWaitingClassUnusable", "ReasonGangSlow", "ReasonRankSilent", "ReasonBeatsMissing",
	"ReasonProgressing", "ReasonRehearsalPlayed", "ReasonRehearsalRunning", "ReasonRehearsalPassed",
	"ReasonRehearsalFailed", "ReasonRehearsalIncomplete",
}

// Every reason has a test on a real scheduler, and no list has a superfluous entry.
func TestEveryReasonIsProvoked(t *testing.T) {
	all := constants(t, "api/v1alpha1", "")
	maps.Copy(all, constants(t, "scheduler/kueue", "kueue."))
	if len(all) < 50 {
		t.Fatalf("only %d reasons were found", len(all))
	}
	here, waits := provokedHere(t), waitingReasons(t)
	for name := range all {
		_, listed := elsewhere[name]
		is := 0
		for _, b := range []bool{
			slices.Contains(here, name), listed, slices.Contains(changes, name),
			slices.Contains(withoutScheduler, name),
		} {
			if b {
				is++
			}
		}
		switch {
		case is == 0:
			t.Errorf("%s: no test provokes it on a real scheduler: write one here, or name one in elsewhere", name)
		case is > 1:
			t.Errorf("%s: it stands in more than one list", name)
		case slices.Contains(changes, name) && slices.Contains(waits, all[name]):
			t.Errorf("%s: jobs wait for this reason, so a test must provoke it on a real scheduler", name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(elsewhere)), changes, here) {
		if _, exists := all[name]; !exists {
			t.Errorf("%s: there is no such reason any more", name)
		}
	}
}

func TestElsewhereIsThere(t *testing.T) {
	for name, where := range elsewhere {
		file, function, _ := strings.Cut(where, " ")
		content, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(string(content), "//go:build cluster\n") {
			t.Errorf("%s: %s is no test on a real scheduler", name, file)
		}
		_, short, _ := strings.Cut("."+name, ".Reason")
		if body := functionOf(t, file, function); !strings.Contains(body, "Reason"+short) {
			t.Errorf("%s: %s in %s does not name it", name, function, file)
		}
	}
}

// constants returns the values of a folder's constants Reason*, by their names without the prefix.
func constants(t *testing.T, folder, prefix string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, file := range parse(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if strings.HasPrefix(name.Name, "Reason") && i < len(spec.Values) {
					values[prefix+name.Name] = fmt.Sprint(text(spec.Values[i]))
				}
			}
			return false
		})
	}
	// Kueue's package repeats one of the scheduler package's.
	if prefix != "" {
		delete(values, prefix+"ReasonAdmissionCheckPending")
	}
	return values
}

// provokedHere returns the reasons in this package's tables.
func provokedHere(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, file := range []string{"reasons_test.go", "alone_test.go"} {
		ast.Inspect(parseFile(t, file), func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok && text(kv.Key) == "reason" {
				names = append(names, strings.TrimPrefix(text(kv.Value), "v1alpha1."))
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// waitingReasons returns the values of all reasons that the code gives to a Blocker, an Explanation or a
// Verdict.
func waitingReasons(t *testing.T) []string {
	t.Helper()
	known := constants(t, "api/v1alpha1", "")
	var values []string
	note := func(e ast.Expr) {
		_, name, _ := strings.Cut("."+text(e), ".Reason")
		values = append(values, known["Reason"+name])
	}
	for _, folder := range []string{
		"pkg/trainingjob", "pkg/controller", "pkg/controller/memory", "pkg/controller/backends", "scheduler",
		"scheduler/volcano", "scheduler/native", "scheduler/coscheduling", "scheduler/kueue",
	} {
		for _, file := range parse(t, folder) {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					kind := text(n.Type)
					if !slices.ContainsFunc([]string{"Blocker", "Explanation", "Verdict"},
						func(s string) bool { return strings.HasSuffix(kind, s) }) {
						return true
					}
					for _, e := range n.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok && text(kv.Key) == "Reason" {
							note(kv.Value)
						}
					}
				case *ast.AssignStmt:
					for i, to := range n.Lhs {
						if strings.HasSuffix(text(to), ".Reason") && i < len(n.Rhs) {
							note(n.Rhs[i])
						}
					}
				}
				return true
			})
		}
	}
	if len(values) < 20 {
		t.Fatalf("only %d places were found where a job waits", len(values))
	}
	return values
}

// text of a name, with or without its package, or of a literal.
func text(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return text(n.X) + "." + n.Sel.Name
	case *ast.BasicLit:
		return n.Value
	}
	return ""
}

// parse the code of a folder without its tests.
func parse(t *testing.T, folder string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	var files []*ast.File
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, parseFile(t, name))
		}
	}
	return files
}

func parseFile(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// functionOf returns the source of a function of a file.
func functionOf(t *testing.T, file, name string) string {
	t.Helper()
	path := filepath.Join("../..", file)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, content, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return string(content[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset])
		}
	}
	t.Errorf("%s has no function %s", file, name)
	return ""
}

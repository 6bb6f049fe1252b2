package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"
)

const (
	gitops    = "docs/gitops.md"
	luaHealth = "resource.customizations.health.mlplatform.example.com_TrainingJob"
)

// statuses are jobs as the API server stored them while pages were played: testdata/statuses/<name>.json, by
// what each tool is to make of them.
var statuses = map[string]struct {
	argo    string
	flux    string
	kstatus status.Status
}{
	"None":                         {"Progressing", "inProgress", status.CurrentStatus},
	"Queued-NotJudged":             {"Progressing", "inProgress", status.InProgressStatus},
	"Queued-QuotaExceeded":         {"Progressing", "inProgress", status.CurrentStatus},
	"Queued-InsufficientResources": {"Progressing", "inProgress", status.CurrentStatus},
	"Queued-NoNodeLargeEnough":     {"Degraded", "inProgress", status.CurrentStatus},
	"Queued-VolumeUnbound":         {"Progressing", "inProgress", status.CurrentStatus},
	"Queued-PodRejected":           {"Degraded", "inProgress", status.CurrentStatus},
	"Queued-ExceedsQuota":          {"Degraded", "inProgress", status.CurrentStatus},
	"Starting-ImagePullFailed":     {"Degraded", "inProgress", status.CurrentStatus},
	"Pending-SchedulerNotInstalled": {
		"Degraded", "inProgress", status.CurrentStatus,
	},
	"Running":           {"Healthy", "current", status.CurrentStatus},
	"Draining":          {"Progressing", "inProgress", status.InProgressStatus},
	"Draining-NodeLost": {"Progressing", "inProgress", status.InProgressStatus},
	"Restarting":        {"Progressing", "inProgress", status.InProgressStatus},
	"Suspended":         {"Suspended", "current", status.InProgressStatus},
	"Succeeded":         {"Healthy", "current", status.InProgressStatus},
	"Failed":            {"Degraded", "failed", status.InProgressStatus},
}

// rehearsals gate what is applied after them: they are healthy once they have passed.
var rehearsals = map[string]struct{ argo, flux string }{
	"Queued-NotJudged": {"Progressing", "inProgress"},
	"Running":          {"Progressing", "inProgress"},
	"Restarting":       {"Progressing", "inProgress"},
	"Succeeded":        {"Healthy", "current"},
	"Failed":           {"Degraded", "failed"},
}

func readRehearsal(t *testing.T, name string) map[string]any {
	t.Helper()
	object := readStatus(t, name)
	if err := unstructured.SetNestedMap(object, map[string]any{}, "spec", "rehearsal"); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestEveryPhaseHasAStatus(t *testing.T) {
	files, err := filepath.Glob("testdata/statuses/*.json")
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		phase, _, _ := strings.Cut(name, "-")
		phases[phase] = true
		if _, ok := statuses[name]; !ok {
			t.Errorf("%s has no expected health", file)
		}
		j := readStatus(t, name)
		if got, _, _ := unstructured.NestedString(j, "status", "phase"); got != phase && phase != "None" {
			t.Errorf("%s has the phase %q", file, got)
		}
	}
	for _, phase := range []string{
		"Pending", "Queued", "Starting", "Running", "Draining", "Restarting", "Suspended", "Succeeded", "Failed",
	} {
		if !phases[phase] {
			t.Errorf("no job in phase %s", phase)
		}
	}
}

func TestArgoHealth(t *testing.T) {
	config := &corev1.ConfigMap{}
	readFile(t, gitops, "argocd-cm.yaml", config)
	script := config.Data[luaHealth]
	for name, want := range statuses {
		j := readStatus(t, name)
		health, message := argoHealth(t, script, j)
		if health != want.argo || message == "" {
			t.Errorf("%s is %s (%q), want %s", name, health, message, want.argo)
		}
	}
	for name, want := range rehearsals {
		if health, _ := argoHealth(t, script, readRehearsal(t, name)); health != want.argo {
			t.Errorf("a rehearsal that is %s is %s, want %s", name, health, want.argo)
		}
	}
	changed := readStatus(t, "Running")
	if err := unstructured.SetNestedField(changed, int64(99), "metadata", "generation"); err != nil {
		t.Fatal(err)
	}
	if health, _ := argoHealth(t, script, changed); health != "Progressing" {
		t.Errorf("a change that the operator has not processed is %s", health)
	}
}

// argoHealth runs the script as Argo CD does (util/lua): with the object as obj, and without libraries that
// reach out.
func argoHealth(t *testing.T, script string, object map[string]any) (health, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		call := lua.P{Fn: state.NewFunction(open), Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s", state.Get(-1))
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, v := range value {
			table.RawSetString(key, luaValue(state, v))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, v := range value {
			table.Append(luaValue(state, v))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case int64:
		return lua.LNumber(value)
	}
	return lua.LNil
}

// TestFluxHealth evaluates the expressions in the order in which Flux does (fluxcd/pkg/runtime/cel, status
// evaluator): in progress, failed, current; what is none of them is in progress.
func TestFluxHealth(t *testing.T) {
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []struct{ InProgress, Failed, Current string }
		}
	}
	readFile(t, gitops, "kustomization.yaml", &kustomization)
	if len(kustomization.Spec.HealthCheckExprs) != 1 {
		t.Fatalf("%d health checks", len(kustomization.Spec.HealthCheckExprs))
	}
	e := kustomization.Spec.HealthCheckExprs[0]
	health := func(object map[string]any) string {
		for _, is := range []struct{ what, expression string }{
			{"inProgress", e.InProgress}, {"failed", e.Failed}, {"current", e.Current},
		} {
			if isTrue(t, is.expression, object) {
				return is.what
			}
		}
		return "inProgress"
	}
	for name, want := range statuses {
		if got := health(readStatus(t, name)); got != want.flux {
			t.Errorf("%s is %s, want %s", name, got, want.flux)
		}
	}
	for name, want := range rehearsals {
		if got := health(readRehearsal(t, name)); got != want.flux {
			t.Errorf("a rehearsal that is %s is %s, want %s", name, got, want.flux)
		}
	}
}

func isTrue(t *testing.T, expression string, object map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("status", cel.DynType), cel.Variable("spec", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	value, ok := object["status"]
	if !ok {
		value = map[string]any{}
	}
	out, _, err := program.Eval(map[string]any{"status": value, "spec": object["spec"]})
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out.Value() == true
}

// TestKstatus: what Flux and others conclude without expressions, as the page says.
func TestKstatus(t *testing.T) {
	for name, want := range statuses {
		result, err := status.Compute(&unstructured.Unstructured{Object: readStatus(t, name)})
		if err != nil {
			t.Fatal(err)
		}
		if result.Status != want.kstatus {
			t.Errorf("%s is %s, want %s (%s)", name, result.Status, want.kstatus, result.Message)
		}
	}
}

func readStatus(t *testing.T, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/statuses", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return object.Object
}

// readFile decodes a file that a page shows.
func readFile(t *testing.T, page, file string, into any) {
	t.Helper()
	for _, b := range readBlocks(t, page) {
		if name, content := b.file(); name == file {
			data, err := yaml.YAMLToJSON([]byte(content))
			if err == nil {
				err = json.Unmarshal(data, into)
			}
			if err != nil {
				t.Fatalf("%s of %s: %v", file, page, err)
			}
			return
		}
	}
	t.Fatalf("%s has no %s", page, file)
}

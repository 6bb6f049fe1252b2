package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/jobmetrics"
	"mlplatform.example.com/trainingjob-operator/pkg/metric"
	"mlplatform.example.com/trainingjob-operator/pkg/operatormetrics"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
)

const shipped = "../../deploy/monitoring/"

type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

type groups struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalStrict(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file groups
	decode(t, shipped+"rules.yaml", &file)
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 15 {
		t.Fatalf("only %d rules", len(all))
	}
	return all
}

// TestEveryAlertHasItsSection, of the same name, and every section its alert.
func TestEveryAlertHasItsSection(t *testing.T) {
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	var alerts, sections []string
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		alerts = append(alerts, r.Alert)
		if want := "docs/monitoring.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
			t.Errorf("%s: its runbook is %q, want %q", r.Alert, r.Annotations["runbook"], want)
		}
		if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s has no summary or no severity", r.Alert)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)\n\n\*\*Means\.\*\* (?s:.+?)\n\n\*\*Do\.\*\* `).
		FindAllStringSubmatch(string(page), -1) {
		sections = append(sections, m[1])
	}
	slices.Sort(alerts)
	slices.Sort(sections)
	if diff := cmp.Diff(slices.Compact(alerts), sections); diff != "" {
		t.Errorf("alerts and sections that say what they mean and what to do (-alerts +sections):\n%s", diff)
	}
}

// TestEveryAlertIsTested: promtool's test has a time at which it fires, with each of its severities, and
// one at which it does not.
func TestEveryAlertIsTested(t *testing.T) {
	var file struct {
		RuleFiles          []string `json:"rule_files"`
		GroupEvalOrder     []string `json:"group_eval_order"`
		EvaluationInterval string   `json:"evaluation_interval"`
		Tests              []struct {
			Name, Interval string
			InputSeries    []any `json:"input_series"`
			AlertRuleTest  []struct {
				Alertname string
				EvalTime  string `json:"eval_time"`
				ExpAlerts []struct {
					ExpLabels      map[string]string `json:"exp_labels"`
					ExpAnnotations map[string]string `json:"exp_annotations"`
				} `json:"exp_alerts"`
			} `json:"alert_rule_test"`
			PromqlExprTest []any `json:"promql_expr_test"`
		}
	}
	decode(t, "alerts.yaml", &file)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, a := range test.AlertRuleTest {
			for _, expected := range a.ExpAlerts {
				fires[a.Alertname+" "+expected.ExpLabels["severity"]] = true
			}
			if len(a.ExpAlerts) == 0 {
				silent[a.Alertname] = true
			}
		}
	}
	for _, r := range rules(t) {
		if severe := r.Alert + " " + r.Labels["severity"]; r.Alert != "" && (!fires[severe] || !silent[r.Alert]) {
			t.Errorf("%s: fires %t, silent %t", severe, fires[severe], silent[r.Alert])
		}
	}
}

// name of a metric of ours, or of a rule's.
var name = regexp.MustCompile(`\b[a-z_]*:?trainingjob_\w+(:\w+)?`)

// served are the names that a rule or a dashboard may ask for.
func served(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, d := range slices.Concat(meter.Descriptions(), jobmetrics.SumDescriptions(),
		jobmetrics.JobDescriptions(), reportserver.MetricDescriptions(), operatormetrics.Descriptions()) {
		known[d.Name] = true
		if d.Type == metric.Histogram {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[d.Name+suffix] = true
			}
		}
	}
	for _, r := range rules(t) {
		if r.Record != "" {
			known[r.Record] = true
		}
	}
	return known
}

// TestRulesAskForWhatIsServed, and only for that.
func TestRulesAskForWhatIsServed(t *testing.T) {
	known, asked := served(t), 0
	for _, r := range rules(t) {
		for _, n := range name.FindAllString(r.Expr, -1) {
			asked++
			if !known[n] {
				t.Errorf("%s%s asks for %s, which nothing serves", r.Record, r.Alert, n)
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d names were found", asked)
	}
}

// TestDashboards can be read by Grafana and ask for what is served. Each panel has a data source that the
// user chooses.
func TestDashboards(t *testing.T) {
	known, titles := served(t), map[string]bool{}
	for path, board := range boards(t) {
		for _, p := range board.Panels {
			titles[p.Title] = true
			for _, target := range p.Targets {
				names := name.FindAllString(target.Expr, -1)
				if target.Datasource.UID != "${datasource}" {
					t.Errorf("%s: %s: always asks the same data source", path, p.Title)
				}
				for _, n := range names {
					if !known[n] {
						t.Errorf("%s: %s asks for %s, which nothing serves", path, p.Title, n)
					}
				}
			}
		}
	}
	for _, title := range []string{
		"Jobs by state", "Active jobs", "GPU use", "Progress", "Duration", "Failure rate",
		"Why jobs wait", "Preemptions", "Goodput", "Reconciles",
	} {
		if !titles[title] {
			t.Errorf("no panel %q", title)
		}
	}
}

// accountToken is the key of the Secret in account.yaml.
var accountToken = map[string]any{
	"credentials": map[string]any{"name": "trainingjob-prometheus", "key": "token"},
}

// TestMonitorsScrapeBothEndpoints, and keep the labels of jobs.
func TestMonitorsScrapeBothEndpoints(t *testing.T) {
	for file, key := range map[string]string{
		"service_monitor.yaml": "endpoints", "pod_monitor.yaml": "podMetricsEndpoints",
	} {
		data, err := os.ReadFile(shipped + file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(data), "\n---\n")
		var monitor struct{ Spec map[string]any }
		if err := yaml.Unmarshal([]byte(first), &monitor); err != nil {
			t.Fatal(err)
		}
		var paths []string
		endpoints, _ := monitor.Spec[key].([]any)
		for _, e := range endpoints {
			endpoint, _ := e.(map[string]any)
			path, _ := endpoint["path"].(string)
			if endpoint["honorLabels"] != true {
				t.Errorf("%s: %s renames the labels of jobs", file, path)
			}
			if diff := cmp.Diff(accountToken, endpoint["authorization"]); diff != "" ||
				endpoint["bearerTokenFile"] != nil {
				t.Errorf("%s: %s reads no Secret, as some clusters require (-want +got):\n%s", file, path, diff)
			}
			paths = append(paths, path)
		}
		if diff := cmp.Diff([]string{"/metrics", "/metrics/jobs"}, paths); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// TestPrometheusRuleIsTheRules: make generate was run.
func TestPrometheusRuleIsTheRules(t *testing.T) {
	var file groups
	decode(t, shipped+"rules.yaml", &file)
	var object struct {
		APIVersion, Kind string
		Metadata         map[string]string
		Spec             groups
	}
	decode(t, shipped+"prometheus_rule.yaml", &object)
	if diff := cmp.Diff(file, object.Spec); diff != "" {
		t.Errorf("run make generate (-rules.yaml +prometheus_rule.yaml):\n%s", diff)
	}
}

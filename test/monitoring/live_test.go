//go:build cluster

package monitoring

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/prometheus"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	// interval of scrapes and of evaluations.
	interval = time.Second
	// patience of every wait for Prometheus, on a machine that is slow and busy.
	patience = 2 * time.Minute
)

// gpuUse is what the exporters say of each rank's two GPUs.
var gpuUse = map[string][]float64{"bert-worker-0": {80, 90}, "bert-worker-1": {60, 70}}

// TestARealPrometheus scrapes the operator while testdata/jobs.yaml happens. Every query of a dashboard and
// every rule has data, and what it says is what the jobs' history says.
func TestARealPrometheus(t *testing.T) {
	t.Parallel()
	e := startEnvironment(t)
	a := &answers{environment: e, queries: panelQueries(t), answered: map[string]bool{}}
	e.untilTwoStall()
	a.agree("while jobs train and wait", e.trainingFigures(), nil)
	e.untilAllEnded()
	a.alertIs("TrainingJobResumeIgnored", prometheus.Firing)
	began := e.now()["bert"].CreationTimestamp
	lag := 3 * interval.Seconds() / time.Since(began.Time).Seconds()
	a.agree("when they have ended", e.endFigures(lag), e.counterFigures())
	a.checkRules(rules(t))
	a.checkVariables(boards(t))
	e.Delete(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gpt"}})
	a.alertIs("TrainingJobResumeIgnored", prometheus.Inactive)
}

// untilTwoStall plays the jobs until two train and stall, and one waits.
func (e *environment) untilTwoStall() {
	e.T.Helper()
	for _, o := range objects(e.T, "testdata/jobs.yaml") {
		if o.GetName() == "urgent" {
			continue
		}
		if o.GetKind() == "TrainingJob" {
			o.SetNamespace(namespace)
		}
		e.Create(o)
		if name := o.GetName(); name == "bert" || name == "gpt" { // before others have their nodes
			e.Reaches(name, v1alpha1.PhaseRunning)
		}
	}
	e.Says("waits", v1alpha1.ReasonInsufficientResources)
	for _, name := range []string{"bert", "gpt"} {
		e.Until(name+" has saved, and trains no more", func(ctx context.Context) (string, error) {
			job, err := e.Get(ctx, name)
			if err != nil {
				return "", err
			}
			st := job.Status
			if st.Checkpoint == nil || st.Checkpoint.Latest == nil || st.Progress == nil || st.Progress.Step < 500 {
				return st.Message, nil
			}
			return "", nil
		})
	}
}

// untilAllEnded preempts those that train, lets them resume, and waits until all that can end have ended.
func (e *environment) untilAllEnded() {
	e.T.Helper()
	for _, o := range objects(e.T, "testdata/jobs.yaml") {
		if o.GetName() == "urgent" {
			o.SetNamespace(namespace)
			e.Create(o)
		}
	}
	e.Reaches("urgent", v1alpha1.PhaseSucceeded)
	e.Until("gpt ignores where it should resume", func(ctx context.Context) (string, error) {
		job, err := e.Get(ctx, "gpt")
		if err != nil {
			return "", err
		}
		for _, c := range job.Status.Conditions {
			if c.Type == v1alpha1.ConditionResumeIgnored && c.Status == metav1.ConditionTrue {
				return "", nil
			}
		}
		return job.Status.Message, nil
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gpt-worker-0"}}
	e.MergePatch(pod, fmt.Sprintf(`{"metadata":{"annotations":{%q:"steps=700 rate=100 ignore-resume=true"}}}`,
		localcluster.AnnotationTrainer))
	for name, phase := range map[string]v1alpha1.Phase{
		"bert": v1alpha1.PhaseSucceeded, "gpt": v1alpha1.PhaseSucceeded, "waits": v1alpha1.PhaseFailed,
	} {
		e.Reaches(name, phase)
	}
}

// trainingFigures are those of jobs that hold nodes.
func (e *environment) trainingFigures() map[panelQuery]figure {
	figures := e.statesFigures()
	pods := &corev1.PodList{}
	if err := e.Client.List(e.T.Context(), pods, client.InNamespace(namespace)); err != nil {
		e.T.Fatal(err)
	}
	var held int64
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Spec.NodeName != "" {
			gpus := p.Spec.Containers[0].Resources.Requests[harness.GPU]
			held += gpus.Value()
		}
	}
	progress := func(job *v1alpha1.TrainingJob) (float64, bool) {
		p := job.Status.Progress
		if p == nil || p.Percent == nil {
			return 0, false
		}
		return float64(*p.Percent), true
	}
	loss := func(job *v1alpha1.TrainingJob) (float64, bool) {
		if job.Status.Progress == nil {
			return 0, false
		}
		n, err := strconv.ParseFloat(job.Status.Progress.Metrics["loss"], 64)
		return n, err == nil
	}
	figures[panelQuery{"jobs", "GPUs allocated", "A"}] = figure{
		want: map[string]float64{"namespace=" + namespace: float64(held)},
	}
	figures[panelQuery{"jobs", "GPU use", "A"}] = figure{
		want: map[string]float64{"namespace=" + namespace + " trainingjob=bert": 75},
	}
	figures[panelQuery{"jobs", "Progress", "A"}] = figure{want: e.of(progress)}
	figures[panelQuery{"jobs", "Loss", "A"}] = figure{want: e.of(loss)}
	figures[panelQuery{"operator", "Replicas", "A"}] = figure{want: map[string]float64{
		"instance=" + e.operator.Config.Metrics.BindAddress + " job=trainingjob-operator": 1,
	}}
	return figures
}

// answers are what Prometheus says to the queries of the boards.
type answers struct {
	*environment
	queries  map[panelQuery]string
	answered map[string]bool
}

// context of the waits of one step.
func (a *answers) context() context.Context {
	ctx, cancel := context.WithTimeout(a.T.Context(), patience)
	a.T.Cleanup(cancel)
	return ctx
}

// alertIs waits for the state of an alert.
func (a *answers) alertIs(name string, state prometheus.AlertState) {
	a.T.Helper()
	if _, err := a.prometheus.WaitForAlert(a.context(), name, state); err != nil {
		a.T.Error(err)
	}
}

// agree waits until one figure after the other is what it should be, and checks that then all are. It also
// notes which queries have data.
func (a *answers) agree(when string, panels map[panelQuery]figure, more []figure) {
	a.T.Helper()
	figures := map[string]figure{}
	for q, f := range panels {
		if f.query = substitute(a.queries[q], chosenAll); f.query == "" {
			a.T.Fatalf("there is no %v", q)
		}
		figures[fmt.Sprint(q)] = f
	}
	for _, f := range more {
		figures[f.query] = f
	}
	ctx, names := a.context(), slices.Sorted(maps.Keys(figures))
	for _, name := range names {
		if _, err := a.prometheus.WaitForSamples(ctx, figures[name].query, figures[name].compare); err != nil {
			break // the error of all is reported below
		}
	}
	for _, name := range names {
		samples, err := a.prometheus.Query(a.T.Context(), figures[name].query)
		if err != nil {
			a.T.Errorf("%s, %s: %v", when, name, err)
		} else if wrong := figures[name].compare(samples); wrong != "" {
			a.T.Errorf("%s, %s: %s", when, name, wrong)
		}
	}
	for q, expr := range a.queries {
		if samples, err := a.prometheus.Query(a.T.Context(), substitute(expr, chosenAll)); err != nil {
			a.T.Errorf("%v: %v", q, err)
		} else if hasData(samples) == "" {
			a.answered[expr] = true
		}
	}
}

// hasData returns "" if one of the samples is a number.
func hasData(samples model.Vector) string {
	if slices.ContainsFunc(samples, func(s *model.Sample) bool { return !math.IsNaN(float64(s.Value)) }) {
		return ""
	}
	return fmt.Sprintf("no number: %v", samples)
}

// checkRules: every query of a panel had data at one time, and so had all that rules ask for.
func (a *answers) checkRules(all []rule) {
	a.T.Helper()
	for q, expr := range a.queries {
		if !a.answered[expr] {
			a.T.Errorf("%v had no data at any time: %s", q, expr)
		}
	}
	for _, r := range all {
		asked := selectors(a.T, r.Expr)
		if r.Record != "" {
			asked = append(asked, r.Record)
		}
		for _, selector := range asked {
			query := "last_over_time(" + withoutRare(selector) + "[1h])"
			samples, err := a.prometheus.Query(a.T.Context(), query)
			if missing := hasData(samples); err != nil || missing != "" {
				a.T.Errorf("%s%s: %s had no data at any time: %v", r.Record, r.Alert, selector, err)
			}
		}
	}
	a.checkEvaluations(len(all))
}

// checkEvaluations: Prometheus has so many rules, and could evaluate each whenever it did.
func (a *answers) checkEvaluations(rules int) {
	a.T.Helper()
	response, err := http.Get(a.prometheus.URL + "/metrics")
	if err != nil {
		a.T.Fatal(err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	own, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		a.T.Fatal(err)
	}
	sum := func(name string) (sum float64) {
		for _, m := range own[name].GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
		return sum
	}
	evaluated := sum("prometheus_rule_evaluations_total")
	failed := sum("prometheus_rule_evaluation_failures_total")
	if evaluated == 0 || failed > 0 {
		result, err := a.prometheus.API.Rules(a.T.Context(), nil)
		a.T.Errorf("of %g evaluations of rules %g failed: %+v %v", evaluated, failed, result, err)
	}
	if has := sum("prometheus_rule_group_rules"); has != float64(rules) {
		a.T.Errorf("Prometheus has %g rules, and the file %d", has, rules)
	}
}

// rare are values in a selector of which few happen in this test, by their label.
var rare = map[*regexp.Regexp]func(string) bool{
	regexp.MustCompile(`\breason=~?"([^"]+)"`): v1alpha1.KnownReason,
	regexp.MustCompile(`\bstate=~?"([^"]+)"`):  func(s string) bool { return slices.Contains(phases, s) },
}

// withoutRare asks for any value of such a label, where all values are known.
func withoutRare(selector string) string {
	for matcher, known := range rare {
		m := matcher.FindStringSubmatch(selector)
		if m == nil {
			continue
		}
		values := strings.Split(m[1], "|")
		if !slices.ContainsFunc(values, func(v string) bool { return !known(v) }) {
			label, _, _ := strings.Cut(m[0], "=")
			selector = strings.Replace(selector, m[0], label+`!=""`, 1)
		}
	}
	return selector
}

// variable is how Grafana asks for the values of a variable.
var variable = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// checkVariables: each variable of a board has the value that the jobs of this test have.
func (a *answers) checkVariables(all map[string]board) {
	a.T.Helper()
	want := map[string]string{"namespace": namespace, "trainingjob": "bert", "queue": "research"}
	for name, b := range all {
		for _, v := range b.Templating.List {
			if v.Type != "query" {
				continue
			}
			query, _ := v.Query.(map[string]any)["query"].(string)
			m := variable.FindStringSubmatch(substitute(query, chosenAll))
			if m == nil {
				a.T.Errorf("%s: %s is %q", name, v.Name, query)
				continue
			}
			values, _, err := a.prometheus.API.LabelValues(a.T.Context(), m[2], []string{m[1]},
				time.Now().Add(-time.Hour), time.Now())
			if err != nil || !slices.Contains(values, model.LabelValue(want[v.Name])) {
				a.T.Errorf("%s: %s may be %v, not %s: %v", name, v.Name, values, want[v.Name], err)
			}
		}
	}
}

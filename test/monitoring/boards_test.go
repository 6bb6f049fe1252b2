package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

// board is a dashboard, as far as tests read it.
type board struct {
	UID, Title string
	Templating struct {
		List []struct {
			Name, Type, AllValue string
			Query                any
		}
	}
	Panels []struct {
		ID          int
		Title       string
		GridPos     struct{ X, Y, W, H int }
		FieldConfig struct {
			Defaults struct{ NoValue string }
		}
		Targets []struct {
			RefID, Expr string
			Datasource  struct{ UID string }
		}
	}
}

// boards by the names of their files.
func boards(t *testing.T) map[string]board {
	t.Helper()
	files, err := filepath.Glob(shipped + "dashboards/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v %v", files, err)
	}
	all := map[string]board{}
	for _, path := range files {
		var b board
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &b)
		}
		if err != nil || b.UID == "" || b.Title == "" {
			t.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = b
	}
	return all
}

// panelQuery names a query of a panel: the board's file, the panel's title and the query's letter.
type panelQuery struct{ board, panel, ref string }

// panelQueries are the expressions of all boards, as they are written.
func panelQueries(t *testing.T) map[panelQuery]string {
	t.Helper()
	all := map[panelQuery]string{}
	for name, b := range boards(t) {
		for _, p := range b.Panels {
			for _, target := range p.Targets {
				q := panelQuery{name, p.Title, target.RefID}
				if all[q] != "" {
					t.Errorf("%v is there twice", q)
				}
				all[q] = target.Expr
			}
		}
	}
	if len(all) < 35 {
		t.Fatalf("only %d queries", len(all))
	}
	return all
}

// substitute variables as Grafana does: one value is itself, several are (a|b), and All is allValue.
func substitute(expr string, variables map[string]string) string {
	for name, value := range variables {
		expr = strings.ReplaceAll(expr, "$"+name, value)
	}
	return expr
}

// chosenAll is what Grafana puts in the place of each variable where All is chosen.
var chosenAll = map[string]string{"namespace": ".*", "trainingjob": ".*", "queue": ".*"}

// selectors of an expression, as they are written in it, sorted.
func selectors(t *testing.T, expr string) []string {
	t.Helper()
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var found []string
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		if m, is := e.(*metricsql.MetricExpr); is {
			found = append(found, string(m.AppendString(nil)))
		}
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// pretends are functions whose result is there when nothing is, so that a panel with a wrong name looks
// right.
var pretends = []string{"vector", "absent", "absent_over_time", "scalar"}

// pretense is the first of them in an expression, or "".
func pretense(t *testing.T, expr string) (name string) {
	t.Helper()
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		if f, is := e.(*metricsql.FuncExpr); is && name == "" && slices.Contains(pretends, f.Name) {
			name = f.Name
		}
	})
	return name
}

// TestNoPanelPretends to have data.
func TestNoPanelPretends(t *testing.T) {
	for q, expr := range panelQueries(t) {
		expr = substitute(expr, chosenAll)
		if strings.Contains(expr, "$") {
			t.Errorf("%v: %s has a variable that its board has not", q, expr)
		}
		if f := pretense(t, expr); f != "" {
			t.Errorf("%v has data where there is none: %s", q, f)
		}
	}
}

// TestAllIsEverything: the boards' variables are those that tests put values in the place of.
func TestAllIsEverything(t *testing.T) {
	for name, b := range boards(t) {
		for _, v := range b.Templating.List {
			if v.Type == "query" && (chosenAll[v.Name] == "" || v.AllValue != chosenAll[v.Name]) {
				t.Errorf("%s: variable %s stands for %q where All is chosen", name, v.Name, v.AllValue)
			}
		}
	}
}

// TestPretenseIsFound, and selectors are, however they are written.
func TestPretenseIsFound(t *testing.T) {
	for expr, want := range map[string]string{
		`sum(a) or vector(0)`: "vector", `sum(a) or on() vector(0)`: "vector", `absent(a{b="c"})`: "absent",
		`sum(rate(a[5m]))`: "", `sum by (vector) (a)`: "",
	} {
		if got := pretense(t, expr); got != want {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
	got := selectors(t, `sum by (x) (rate(a_total{r=~"b|c"}[5m])) / on (x) group_left () max(d) - time() > 3`)
	if want := []string{`a_total{r=~"b|c"}`, `d`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

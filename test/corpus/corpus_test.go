package corpus

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/test/api/judge"
)

// least is how many cases there must be.
const least = 200

// bench is what judges the cases without a cluster.
type bench struct {
	bases    bases
	crd      *judge.CRD
	policies []*judge.Policy

	// rules and validations that cases hit, and the rows that they are about.
	rules       map[int]bool
	validations map[string]bool
	rows        map[string]bool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	crd, err := judge.ReadCRD("../../deploy/crd/mlplatform.example.com_trainingjobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{bases: readBases(t), crd: crd, rules: map[int]bool{}, validations: map[string]bool{},
		rows: map[string]bool{}}
	for _, path := range []string{"deploy/admission", "deploy/policies", "deploy/operator/warnings.yaml"} {
		policies, err := judge.ReadPolicies(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		b.policies = append(b.policies, policies...)
	}
	return b
}

// short returns the name of a policy without the common prefix and suffix.
func short(p *judge.Policy) string {
	return strings.TrimSuffix(strings.TrimPrefix(p.Name, "trainingjob-"), ".mlplatform.example.com")
}

// meets reports whether a policy applies to a case. The policies on tenants apply only to their own cases,
// since they refuse jobs of other cases.
func (c Case) meets(p *judge.Policy) bool {
	return !slices.Contains([]string{"use", "tenants"}, short(p)) || c.By == short(p)
}

// answer has the messages of one way, by the CRD or policy that returned them.
type answer map[string][]string

// ways in which the corpus is replayed without a cluster. Each returns its answer and the expected one.
var ways = map[string]func(*testing.T, *bench, Case) (got answer, want answer){
	"crd":      byCRD,
	"policies": byPolicies,
	"operator": byOperator,
	"convert":  byConvert,
}

func byCRD(t *testing.T, b *bench, c Case) (got, want answer) {
	object, old := c.objects(t, b.bases)
	got, want = answer{}, answer{}
	for _, err := range b.crd.Judge(t.Context(), object, old) {
		got["crd"] = append(got["crd"], err.Error())
	}
	for _, n := range b.crd.Broken(t.Context(), object, old) {
		b.rules[n] = true
	}
	if c.By == "crd" {
		want["crd"] = []string{c.Says}
	}
	return got, want
}

// byPolicies returns the API server's answer with all policies, which see only what the CRD accepts.
func byPolicies(t *testing.T, b *bench, c Case) (got, want answer) {
	got, want = answer{}, answer{}
	if c.By != "-" {
		want[c.By] = []string{c.Says}
	}
	request := c.request(t, b.bases)
	for _, err := range b.crd.Judge(t.Context(), request.Object, request.Old) {
		got["crd"] = append(got["crd"], err.Error())
	}
	if len(got) > 0 {
		return got, want
	}
	for _, p := range b.policies {
		if !c.meets(p) {
			continue
		}
		if c.Params != nil && p.Params != nil && c.By == short(p) {
			p = p.With(c.Params)
		}
		denials, err := p.Judge(t.Context(), request)
		if err != nil {
			t.Error(err)
		}
		for _, s := range denials {
			b.validations[validationOf(p, s.Validation)] = true
			got[short(p)] = append(got[short(p)], s.Message)
		}
	}
	return got, want
}

func validationOf(p *judge.Policy, i int) string {
	return fmt.Sprintf("%s, validation %d", short(p), i)
}

// TestCorpus replays every case in every way, and checks that every rule is covered.
func TestCorpus(t *testing.T) {
	b, cases := newBench(t), readCases(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		for _, way := range slices.Sorted(maps.Keys(ways)) {
			t.Run(way+"/"+name, func(t *testing.T) {
				got, want := ways[way](t, b, c)
				compare(t, got, want)
			})
		}
		for _, row := range c.Rows {
			b.rows[row] = true
		}
	}
	if len(cases) < least {
		t.Errorf("%d cases, want at least %d", len(cases), least)
	}
	t.Logf("%d cases", len(cases))
	b.expectAllHit(t)
}

func compare(t *testing.T, got, want answer) {
	t.Helper()
	for by, words := range want {
		if !slices.ContainsFunc(got[by], func(s string) bool { return strings.Contains(s, words[0]) }) {
			t.Errorf("want %q of %s, got %q", words[0], by, got)
		}
	}
	for by, words := range got {
		if _, expected := want[by]; !expected {
			t.Errorf("unexpected answer of %s: %q", by, words)
		}
		for _, s := range words {
			if strings.Contains(s, "failed rule") || strings.Contains(s, "failed expression") {
				t.Errorf("a raw expression is shown: %q", s)
			}
		}
	}
}

// expectAllHit fails for each rule, validation and row that no case has hit.
func (b *bench) expectAllHit(t *testing.T) {
	t.Helper()
	for n, rule := range b.crd.Rules() {
		if !b.rules[n] {
			t.Errorf("no case breaks the rule %s", rule)
		}
	}
	for _, p := range b.policies {
		for i, expression := range p.Expressions {
			if !b.validations[validationOf(p, i)] {
				t.Errorf("no case hits %s: %s", validationOf(p, i), expression)
			}
		}
	}
	b.expectThreats(t)
}

package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Tiers is the content of test/tiers.yaml.
type Tiers struct {
	// Test runs at every landing, together with all tests that need nothing but Go.
	Test Tier `json:"test"`
	// Parts are the rest, each small enough for one landing.
	Parts []Part `json:"parts"`
	// LeftOut lists tests that neither runs.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
}

// Tier is a list of test runs and what they need.
type Tier struct {
	// Build has the arguments of "localcluster build" for the programs that the runs start.
	Build []string `json:"build,omitempty"`
	// Runs are carried out in their order.
	Runs []Run `json:"runs"`
}

// Part is a tier that takes its turn.
type Part struct {
	Name string `json:"name"`
	// Took is how long the part took on two processors, with everything built.
	Took metav1.Duration `json:"took"`
	// Paths are prefixes of files whose change makes the part run next.
	Paths []string `json:"paths"`
	Tier  `json:",inline"`
}

// Run is one call of "go test".
type Run struct {
	Packages []string `json:"packages"`
	// Tag is the build tag: cluster (default) or e2e.
	Tag string `json:"tag,omitempty"`
	// Tests and Skip are regular expressions, as those of "go test -run" and "-skip".
	Tests string `json:"tests,omitempty"`
	Skip  string `json:"skip,omitempty"`
	// Short runs a reduced form; the full form has to be in another run.
	Short bool `json:"short,omitempty"`
	// Verbose prints what passes, too.
	Verbose bool `json:"verbose,omitempty"`
	// Args are for the test binary. ${SEED} in them is a number that differs from commit to commit.
	Args []string `json:"args,omitempty"`
	// Timeout of each package.
	Timeout metav1.Duration `json:"timeout,omitempty"`
}

// LeftOut is a package, or one test of it, that no tier runs.
type LeftOut struct {
	Package string `json:"package"`
	Test    string `json:"test,omitempty"`
	Reason  string `json:"reason"`
}

const (
	tagCluster     = "cluster"
	defaultTimeout = 40 * time.Minute
)

// ReadTiers reads and checks the file.
func ReadTiers(path string) (Tiers, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Tiers{}, err
	}
	var t Tiers
	if err := yaml.UnmarshalStrict(content, &t); err != nil {
		return Tiers{}, fmt.Errorf("parsing %s: %w", path, err)
	}
	if err := t.check(); err != nil {
		return Tiers{}, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func (t Tiers) check() error {
	var errs []error
	names := map[string]bool{}
	for _, p := range t.Parts {
		if p.Name == "" || names[p.Name] {
			errs = append(errs, fmt.Errorf("part %q: the name is empty or not unique", p.Name))
		}
		names[p.Name] = true
		if p.Took.Duration <= 0 || len(p.Paths) == 0 {
			errs = append(errs, fmt.Errorf("part %s: took and paths are required", p.Name))
		}
	}
	for _, r := range t.runs() {
		if len(r.Packages) == 0 {
			errs = append(errs, errors.New("a run names no packages"))
		}
		if len(r.Packages) > 1 && len(r.Args) > 0 {
			errs = append(errs, fmt.Errorf("args %q are for a run of one package: others reject the flags", r.Args))
		}
		for _, pattern := range []string{r.Tests, r.Skip} {
			if _, err := regexp.Compile(pattern); err != nil {
				errs = append(errs, err)
			}
		}
	}
	for _, l := range t.LeftOut {
		if l.Package == "" || l.Reason == "" {
			errs = append(errs, errors.New("leftOut: package and reason are required"))
		}
	}
	return errors.Join(errs...)
}

func (t Tiers) runs() []Run {
	runs := slices.Clone(t.Test.Runs)
	for _, p := range t.Parts {
		runs = append(runs, p.Runs...)
	}
	return runs
}

// Part returns the part of the given name.
func (t Tiers) Part(name string) (Part, error) {
	var names []string
	for _, p := range t.Parts {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Part{}, fmt.Errorf("there is no part %q: choose one of %s", name, strings.Join(names, ", "))
}

// RunsAll reports whether the run includes the whole of a top-level test of a package.
func (r Run) RunsAll(pkg, tag, test string) bool {
	matches := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(test) }
	return slices.Contains(r.Packages, pkg) && r.tag() == tag && !r.Short && !strings.Contains(r.Tests, "/") &&
		matches(r.Tests) && (r.Skip == "" || !matches(r.Skip))
}

func (r Run) tag() string {
	if r.Tag == "" {
		return tagCluster
	}
	return r.Tag
}

// Command returns the arguments of go. Two packages run at a time: they mostly wait. Go's cache of results is
// not used, because it does not see what the tests' child processes read. make verify vets the code.
func (r Run) Command(seed uint32) []string {
	timeout := r.Timeout.Duration
	if timeout == 0 {
		timeout = defaultTimeout
	}
	args := []string{
		"test", "-vet=off", "-tags", r.tag(), "-p", "2", "-count", "1", "-timeout", timeout.String(),
	}
	if r.Tests != "" {
		args = append(args, "-run", r.Tests)
	}
	if r.Skip != "" {
		args = append(args, "-skip", r.Skip)
	}
	if r.Short {
		args = append(args, "-short")
	}
	if r.Verbose {
		args = append(args, "-v")
	}
	args = append(args, r.Packages...)
	if len(r.Args) > 0 {
		args = append(args, "-args")
	}
	for _, arg := range r.Args {
		args = append(args, strings.ReplaceAll(arg, "${SEED}", fmt.Sprint(seed)))
	}
	return args
}

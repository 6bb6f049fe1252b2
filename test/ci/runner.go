package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// everyPackage is the pattern of the packages of both modules: that of the API is in the folder api.
const everyPackage = "mlplatform.example.com/trainingjob-operator/..."

// runner carries out tiers in the repository's folder.
type runner struct {
	ctx   context.Context
	tiers Tiers
	head  string // the commit
	bin   string // the folder of the programs; tests use them (harness.Program)
}

func newRunner(ctx context.Context) (*runner, error) {
	tiers, err := ReadTiers("test/tiers.yaml")
	if err != nil {
		return nil, err
	}
	bin, err := filepath.Abs("bin")
	if err != nil {
		return nil, err
	}
	r := &runner{ctx: ctx, tiers: tiers, bin: bin}
	head, err := r.output("git", "rev-parse", "HEAD")
	r.head = strings.TrimSpace(head)
	return r, err
}

// test runs the tests that need nothing but Go, then those of the tier. Packages of the tier are left out of
// the former, since the latter include their other tests.
func (r *runner) test() error {
	all, err := r.output("go", "list", everyPackage)
	if err != nil {
		return err
	}
	var inTier []string
	for _, run := range r.tiers.Test.Runs {
		if run.Tests == "" && run.tag() == tagCluster {
			inTier = append(inTier, run.Packages...)
		}
	}
	tagged, err := r.output("go", append([]string{"list"}, inTier...)...)
	if err != nil {
		return err
	}
	units := slices.DeleteFunc(strings.Fields(all), func(pkg string) bool {
		return slices.Contains(strings.Fields(tagged), pkg)
	})
	if err := r.do("go", append([]string{"test", "-vet=off"}, units...)...); err != nil {
		return err
	}
	return r.tier("test", r.tiers.Test)
}

func (r *runner) part(p Part) error {
	start := time.Now()
	fmt.Printf("part %s\n", p.Name)
	if err := r.tier(p.Name, p.Tier); err != nil {
		return fmt.Errorf("part %s: %w", p.Name, err)
	}
	fmt.Printf("part %s took %s\n", p.Name, time.Since(start).Round(time.Second))
	return nil
}

// all carries on after a part that fails.
func (r *runner) all() error {
	errs := []error{r.test()}
	for _, p := range r.tiers.Parts {
		errs = append(errs, r.part(p))
	}
	return errors.Join(errs...)
}

// landing runs the part whose turn it is, then others while the budget lasts, and records what succeeded.
func (r *runner) landing() error {
	budget, err := ReadBudget(os.Getenv, time.Now())
	if err != nil {
		return err
	}
	cache, err := components.FindCache("")
	if err != nil {
		return err
	}
	path := filepath.Join(cache, "parts.json")
	record, err := ReadRecord(path)
	if err != nil {
		return err
	}
	for i, p := range Rotate(r.tiers.Parts, record, r.touched(record.Landing), r.head) {
		if i > 0 && !budget.Holds(p, time.Now()) {
			fmt.Printf("part %s: left for another landing, it takes about %s\n", p.Name, p.Took.Duration)
			continue
		}
		if err := r.part(p); err != nil {
			r.showCommitsSince(record.Parts[p.Name].Commit)
			return err
		}
		if record.Parts == nil {
			record.Parts = map[string]Success{}
		}
		record.Parts[p.Name] = Success{Commit: r.head, Time: time.Now().UTC()}
		if err := record.Write(path); err != nil {
			return err
		}
	}
	record.Landing = r.head
	return record.Write(path)
}

// touched are the files that changed since a commit; none if the commit is not known here.
func (r *runner) touched(since string) []string {
	if since == "" {
		return nil
	}
	files, err := r.output("git", "diff", "--name-only", since, "HEAD")
	if err != nil {
		fmt.Printf("what changed since the last landing is unknown: %v\n", err)
		return nil
	}
	return strings.Fields(files)
}

func (r *runner) showCommitsSince(commit string) {
	if commit == "" {
		fmt.Println("the part has never succeeded on this machine")
		return
	}
	fmt.Println("commits since the part last succeeded on this machine:")
	if err := r.do("git", "--no-pager", "log", "--oneline", commit+"..HEAD"); err != nil {
		fmt.Println(err)
	}
}

// tier builds what its runs need and carries them out. The error of a run that fails lists the tests that
// failed, since packages print much, and in any order. It is in the log as well: bin/test-<name>.log.
func (r *runner) tier(name string, t Tier) error {
	if err := r.do("test/e2e/install.sh"); err != nil {
		return err
	}
	if err := r.do("bin/localcluster", append([]string{"build"}, t.Build...)...); err != nil {
		return err
	}
	path := filepath.Join("bin", "test-"+name+".log")
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // what a full disk cuts off was printed
	for _, run := range t.Runs {
		failed := &failures{}
		if err := r.to(io.MultiWriter(os.Stdout, log, failed), "go", run.Command(Seed(r.head))...); err != nil {
			return fmt.Errorf("%w; the whole output is in %s:\n%s", err, path, failed)
		}
	}
	return nil
}

func (r *runner) do(name string, args ...string) error { return r.to(os.Stdout, name, args...) }

// to runs a command and sends what it prints to w.
func (r *runner) to(w io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(r.ctx, name, args...)
	// go test passes an interrupt on to its test binaries, which then stop their clusters.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = w, w
	cmd.Env = append(os.Environ(), "TJ_BIN="+r.bin)
	fmt.Println(short(cmd.Args))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", short(cmd.Args), err)
	}
	return nil
}

func (r *runner) output(name string, args ...string) (string, error) {
	out, err := exec.CommandContext(r.ctx, name, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", short(append([]string{name}, args...)), err)
	}
	return string(out), nil
}

// short is a command line of at most 160 bytes.
func short(args []string) string {
	const most = 160
	line := strings.Join(args, " ")
	if len(line) > most {
		line = line[:most] + " ..."
	}
	return line
}

// failures keeps the lines of go test's output that name what failed.
type failures struct {
	lines   []string
	partial []byte
}

var failed = regexp.MustCompile(`^ *--- FAIL|^FAIL|^panic|hangs`)

func (f *failures) Write(p []byte) (int, error) {
	f.partial = append(f.partial, p...)
	for {
		advance, line, err := bufio.ScanLines(f.partial, false)
		if err != nil || advance == 0 {
			return len(p), err
		}
		if failed.Match(line) {
			f.lines = append(f.lines, string(line))
		}
		f.partial = f.partial[advance:]
	}
}

func (f *failures) String() string { return strings.Join(f.lines, "\n") }

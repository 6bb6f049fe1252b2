//go:build cluster

package docs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// patience bounds the wait for one condition, and settled that for what is then written with -update.
	patience = 3 * time.Minute
	settled  = 12 * time.Second
	// endless is how long a command runs that has no end, such as a watch.
	endless = 5 * time.Second
)

var (
	// reads matches commands that change nothing: they are repeated until they print what the page shows.
	reads = regexp.MustCompile(`^kubectl (-n \S+ )?` +
		`(get|describe|logs|events|explain|auth|top|tj (explain|timeline|queues))\b`)
	refused = regexp.MustCompile(`(?i)error|invalid|denied|forbidden`)
	watches = regexp.MustCompile(`^kubectl .*( -w\b| --watch\b| -f\s*$)`)
)

func TestPages(t *testing.T) { playAll(t, onVolcano, false) }

// playAll plays the sessions on a cluster, the short ones or the long ones.
func playAll(t *testing.T, name clusterName, long bool) {
	l := startLab(t, name)
	for _, s := range sessions {
		if s.on != name || s.long != long {
			continue
		}
		t.Run(strings.NewReplacer("/", "_", "#", "_").Replace(s.key()), func(t *testing.T) {
			p := &player{lab: l, t: t, session: s}
			p.play()
		})
	}
}

// player plays a session.
type player struct {
	*lab
	t       *testing.T
	session session
	// section that is being played.
	section string
	// printed replaces lines of the page, with -update.
	printed []replacement
}

// replacement of lines of a page, from and to as indexes of its lines.
type replacement struct {
	from, to int
	lines    []string
}

func (p *player) play() {
	p.clean()
	p.script("_setup")
	for _, b := range readBlocks(p.t, p.session.page) {
		if name, content := b.file(); name != "" {
			if err := os.WriteFile(filepath.Join(p.folder, name), []byte(content), 0o600); err != nil {
				p.t.Fatal(err)
			}
			continue
		}
		commands := b.commands()
		if s, ok := sessionFor(b); len(commands) == 0 || !ok || s.key() != p.session.key() {
			continue
		}
		p.enter(b.section)
		for _, c := range commands {
			p.command(b, c)
		}
	}
	p.enter("")
	p.script("_end")
	p.clean()
	p.write()
}

// enter a section: its script creates what the reader of the section has before them.
func (p *player) enter(section string) {
	if section == p.section {
		return
	}
	if p.section != "" {
		p.script(p.section + ".end")
	}
	p.section = section
	if section != "" {
		p.script(section)
	}
}

// script of a page under testdata, if there is one.
func (p *player) script(name string) {
	page := strings.TrimSuffix(strings.ReplaceAll(p.session.page, "/", "-"), ".md")
	text, err := os.ReadFile(filepath.Join("testdata", page, name+".sh"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if out, err := p.run(ctx, string(text)); err != nil {
		p.t.Fatalf("%s.sh of %s: %v\n%s", name, p.session.page, err, out)
	}
}

// clean the namespaces that pages use.
func (p *player) clean() {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	out, err := p.run(ctx, `for n in default team-a team-b; do
  kubectl get crd trainingjobs.mlplatform.example.com -o name >/dev/null 2>&1 &&
    kubectl delete trainingjobs -n $n --all --timeout=2m
  kubectl delete pods,persistentvolumeclaims,resourcequotas,limitranges -n $n --all --timeout=2m
done
kubectl delete configmap -n kube-public trainers --ignore-not-found`)
	if err != nil {
		p.t.Fatalf("cleaning: %v\n%s", err, out)
	}
}

// command runs one, and compares what it prints with what the page shows.
func (p *player) command(b block, c command) {
	deadline := patience
	if *update {
		deadline = settled
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	var out string
	var err error
	for began := time.Now(); ; {
		out, err = p.once(ctx, c)
		if len(c.shown) == 0 && err == nil || len(c.shown) > 0 && matches(c.shown, linesOf(out)) {
			return
		}
		again := reads.MatchString(c.text) && !watches.MatchString(c.text)
		if !again || time.Since(began) > deadline {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	// What failed is no output to show, unless the page shows a refusal.
	if *update && len(c.shown) > 0 && (err == nil || refused.MatchString(strings.Join(c.shown, " "))) {
		p.printed = append(p.printed, replacement{b.line + c.from, b.line + c.to, linesOf(out)})
		return
	}
	p.t.Fatalf("%s: %s\nprinted (%v):\n%s\nand the page shows:\n%s", b.place(), c.text, err, out,
		strings.Join(c.shown, "\n"))
}

func (p *player) once(ctx context.Context, c command) (string, error) {
	if !watches.MatchString(c.text) {
		return p.run(ctx, c.text)
	}
	ctx, cancel := context.WithTimeout(ctx, endless)
	defer cancel()
	out, err := p.run(ctx, c.text)
	if ctx.Err() != nil {
		err = nil
	}
	return out, err
}

// write what was printed into the page.
func (p *player) write() {
	if len(p.printed) == 0 {
		return
	}
	path := filepath.Join(root, p.session.page)
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	slices.SortFunc(p.printed, func(a, b replacement) int { return b.from - a.from })
	for _, r := range p.printed {
		lines = slices.Replace(lines, r.from, r.to, r.lines...)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

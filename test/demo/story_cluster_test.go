//go:build cluster

package demo

import (
	"context"
	"flag"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
	"mlplatform.example.com/trainingjob-operator/lab/demo"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

var pictures = flag.String("pictures", "", "an existing folder for the pictures of README.md")

// The job that is preempted, and its page.
const second, pageOfSecond = "second", cluster + "/namespaces/demo/jobs/second"

// story has the phases that the list of jobs must have shown, in this order.
var story = map[string][]string{
	"first":  {"Running", "Succeeded"},
	second:   {"Queued", "Running", "Queued", "Running", "Succeeded"},
	"urgent": {"Running", "Succeeded"},
}

// TestStory checks on every scheduler that pages that are loaded once show the story of the demo, and at the
// end the figures of the API.
func TestStory(t *testing.T) {
	for _, test := range []struct {
		scheduler string
		oldWay    bool // the scheduler preempts, although the operator could
		saves     bool // second saves before it yields
	}{
		{scheduler: localcluster.SchedulerVolcano, saves: true},
		{scheduler: localcluster.SchedulerNative, saves: true},
		{scheduler: localcluster.SchedulerVolcano, oldWay: true},
		{scheduler: localcluster.SchedulerCoscheduling, saves: true},
		{scheduler: localcluster.SchedulerKueue, saves: true},
	} {
		name, flags := test.scheduler, []string(nil)
		if test.oldWay {
			name, flags = name+"-old-way", []string{"--preemption", string(demo.ByScheduler)}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := play(t, test.scheduler, flags...)
			b := open(t)
			jobs := d.visit(t, b)
			mapped := jobs.another(b, browser.Screen{Width: 1280, Height: 560})
			jobs.open(cluster + "/jobs")
			jobs.run(phases)
			mapped.open(cluster)
			mapped.run(holders)
			waits := jobs.another(b, browser.Screen{Width: 1280, Height: 1320})
			jobs.must(jobs.Until(`seenPhases.` + second + `?.length > 0`))
			waits.open(pageOfSecond)
			waits.run(reasons)
			if *pictures != "" {
				mapped.must(mapped.Until(`most.urgent === 24 && document.querySelector('#map-waiting .reason')
					?.textContent.endsWith('Exceeded')`))
				mapped.must(mapped.View(filepath.Join(*pictures, "map.png")))
			}
			<-d.ended
			if d.err != nil {
				t.Fatalf("the demo failed: %v", d.err)
			}
			jobs.showedTheStory()
			mapped.showedTheGangs()
			waits.showedReason()
			waits.equalsAPI(test.saves)
			for name, v := range map[string]*visitor{"jobs": jobs, "map": mapped, "job": waits} {
				v.unharmed(name)
			}
			if *pictures != "" {
				waits.must(waits.View(filepath.Join(*pictures, "job.png")))
			}
			d.again(t, jobs)
		})
	}
}

// open starts a browser. The test's own context ends too early: cleanups still use the browser.
func open(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

// visit opens the board with the link that the demo prints.
func (d *played) visit(t *testing.T, b *browser.Browser) *visitor {
	t.Helper()
	link, err := d.link()
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	v := newVisitor(t, b, "http://"+u.Host, browser.Screen{Width: 400, Height: 800, Dark: true})
	v.must(v.Open(link))
	return v
}

func newVisitor(t *testing.T, b *browser.Browser, host string, s browser.Screen) *visitor {
	t.Helper()
	p, err := b.Visit(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			at, _ := p.URL()
			text, err := p.Text("body")
			t.Logf("the browser is at %s (%v):\n%.4000s\nfaults: %v", at, err, text, p.Faults())
		}
		p.Close()
	})
	return &visitor{p, t, host}
}

// another opens a page for the same visitor, on another screen.
func (v *visitor) another(b *browser.Browser, s browser.Screen) *visitor {
	v.t.Helper()
	cookies, err := v.Cookies()
	v.must(err)
	w := newVisitor(v.t, b, v.host, s)
	w.must(w.SetCookies(cookies))
	return w
}

// showedTheStory checks that the list of jobs has shown the phases of the story in order.
func (v *visitor) showedTheStory() {
	v.t.Helper()
	v.must(v.Until(`['first', 'second', 'urgent'].every(name => seenPhases[name]?.at(-1) === 'Succeeded')`))
	for name, want := range story {
		phases := value[[]string](v, "seenPhases."+name)
		rest := want
		for _, phase := range phases {
			if len(rest) > 0 && rest[0] == phase {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			v.t.Errorf("phases of %s on the page: %v, %v are missing", name, phases, rest)
		}
	}
}

// showedTheGangs checks that the map showed every gang with all its GPUs, and never more GPUs than exist.
func (v *visitor) showedTheGangs() {
	v.t.Helper()
	got := value[map[string]int](v, "most")
	if all := got["all"]; all < 24 || all > 32 {
		v.t.Errorf("at most %d GPUs were held at a time", all)
	}
	delete(got, "all")
	if diff := cmp.Diff(map[string]int{"first": 24, second: 24, "urgent": 24}, got); diff != "" {
		v.t.Errorf("the most GPUs that gangs had on the map (-want +got):\n%s", diff)
	}
	v.must(v.Until(`document.querySelectorAll('#map-gangs > li:not(.rest)').length === 0`)) // all are free
}

// showedReason checks that the page of second showed what was missing while second waited.
func (v *visitor) showedReason() {
	v.t.Helper()
	shown := value[[]string](v, "seenReasons")
	if !slices.ContainsFunc(shown, func(s string) bool {
		return strings.Contains(s, "nvidia.com/gpu") && strings.Contains(s, "24")
	}) {
		v.t.Errorf("the page never showed why %s waits, with its 24 GPUs: %q", second, shown)
	}
}

// equalsAPI checks that the job's page shows the figures of the API, and that a gang that saved lost nothing.
func (v *visitor) equalsAPI(saved bool) {
	v.t.Helper()
	type figures struct {
		Phase, Attempt string
		Preemptions    int
		LostSteps      int64
		Checkpoint     int64
	}
	v.must(v.Until(`document.querySelector('#job-header .phase').textContent === 'Succeeded'`))
	want := value[figures](v, `fetch('/api/v1/clusters/default/namespaces/demo/trainingjobs/second')
		.then(r => r.json()).then(j => ({
			Phase: j.status.phase, Attempt: String(j.status.attempt), Preemptions: j.status.preemptions,
			LostSteps: j.status.work.lostSteps ?? 0, Checkpoint: j.status.checkpoint.latest.step,
		}))`)
	shown := value[figures](v, `(() => {
		const facts = Object.fromEntries([...document.querySelectorAll('#job-header .facts > div')].map(
			d => [d.querySelector('dt').textContent, d.querySelector('dd').textContent.trim()]))
		const rows = [...document.querySelectorAll('#job-preemptions tbody tr:not(.message)')]
		const number = text => Number(text.replaceAll(/[^0-9]/g, ''))
		return {
			Phase: document.querySelector('#job-header .phase').textContent,
			Attempt: String(Number.parseInt(facts.Attempt)), // "2 (0 failures, 1 preemption)"
			Preemptions: rows.length,
			LostSteps: rows.reduce((sum, r) => sum + number(r.children[4].textContent), 0),
			Checkpoint: number(document.querySelector('#job-checkpoints tbody th').textContent),
		}
	})()`)
	if shown != want || want.Attempt != "2" || want.Preemptions != 1 || (want.LostSteps == 0) != saved {
		v.t.Errorf("the page shows %+v, the API returns %+v", shown, want)
	}
}

// unharmed checks that the browser reports no errors, and that the page is accessible.
func (v *visitor) unharmed(what string) {
	v.t.Helper()
	if faults := v.Faults(); len(faults) > 0 {
		v.t.Errorf("%s: the browser reports: %v", what, faults)
	}
	if want := []string{strings.TrimPrefix(v.host, "http://")}; !slices.Equal(v.Hosts(), want) {
		v.t.Errorf("%s: the page has contacted %v", what, v.Hosts())
	}
	hindrances, err := v.Hindrances(v.t.Context())
	v.must(err)
	if len(hindrances) > 0 {
		v.t.Errorf("%s: %s", what, strings.Join(hindrances, "\n"))
	}
}

// again checks that the board command prints another link, and that a browser stays logged in.
func (d *played) again(t *testing.T, v *visitor) {
	t.Helper()
	out, err := d.run("board", "--dir", d.dir)
	if err != nil {
		t.Fatalf("another link: %v\n%s", err, out)
	}
	lines := strings.Split(out, "\n")
	i := slices.IndexFunc(lines, linkPattern.MatchString)
	if i < 0 {
		t.Fatalf("no link is in:\n%s", out)
	}
	v.open(cluster + "/jobs") // at the same address, with the cookie of before
	if text, err := v.Text(".user"); err != nil || text != "demo:visitor" {
		t.Errorf("logged in user is %q, %v", text, err)
	}
	v.must(v.Open(strings.TrimSpace(lines[i])))
}

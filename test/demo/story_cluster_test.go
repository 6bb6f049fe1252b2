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

// story is what the list of jobs must have shown of each, in this order.
var story = map[string][]string{
	"first":  {"Running", "Succeeded"},
	second:   {"Queued", "Running", "Queued", "Running", "Succeeded"},
	"urgent": {"Running", "Succeeded"},
}

// TestStory: pages that are loaded once tell the story of the demo on every scheduler, and end with the
// figures of the API.
func TestStory(t *testing.T) {
	for _, test := range []struct {
		scheduler string
		oldWay    bool // the scheduler takes ranks, where the operator could have the gang make room
		saves     bool // before it goes
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
			jobs.must(jobs.Until(`told.` + second + `?.length > 0`))
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
			jobs.toldTheStory()
			mapped.showedTheGangs()
			waits.saidWhy()
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

// open a browser. The test's own context ends before the test tells what it saw.
func open(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

// visit the board by the link that the demo prints.
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

// another page of the same visitor, on another screen.
func (v *visitor) another(b *browser.Browser, s browser.Screen) *visitor {
	v.t.Helper()
	cookies, err := v.Cookies()
	v.must(err)
	w := newVisitor(v.t, b, v.host, s)
	w.must(w.SetCookies(cookies))
	return w
}

// toldTheStory: the list of jobs has shown all phases that matter, one after the other.
func (v *visitor) toldTheStory() {
	v.t.Helper()
	v.must(v.Until(`['first', 'second', 'urgent'].every(name => told[name]?.at(-1) === 'Succeeded')`))
	for name, want := range story {
		told := value[[]string](v, "told."+name)
		rest := want
		for _, phase := range told {
			if len(rest) > 0 && rest[0] == phase {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			v.t.Errorf("of %s the page told %v, without %v", name, told, rest)
		}
	}
}

// showedTheGangs: every gang was seen whole, and never more GPUs than there are.
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

// saidWhy: while second waited, its page said what is missing.
func (v *visitor) saidWhy() {
	v.t.Helper()
	said := value[[]string](v, "said")
	if !slices.ContainsFunc(said, func(s string) bool {
		return strings.Contains(s, "nvidia.com/gpu") && strings.Contains(s, "24")
	}) {
		v.t.Errorf("the page never said why %s waits, with its 24 GPUs: %q", second, said)
	}
}

// equalsAPI: the figures of the job's page are those of the API, and a gang that saved before it went lost
// nothing.
func (v *visitor) equalsAPI(saved bool) {
	v.t.Helper()
	type figures struct {
		Phase, Attempt string
		Preemptions    int
		LostSteps      int64
		Checkpoint     int64
	}
	v.must(v.Until(`document.querySelector('#job-header .phase').textContent === 'Succeeded'`))
	told := value[figures](v, `fetch('/api/v1/clusters/default/namespaces/demo/trainingjobs/second')
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
	if shown != told || told.Attempt != "2" || told.Preemptions != 1 || (told.LostSteps == 0) != saved {
		v.t.Errorf("shown are %+v, and the API says %+v", shown, told)
	}
}

// unharmed: nothing went wrong in the browser, and nobody is kept out of the page with all that is on it.
func (v *visitor) unharmed(what string) {
	v.t.Helper()
	if faults := v.Faults(); len(faults) > 0 {
		v.t.Errorf("%s: the browser complains: %v", what, faults)
	}
	if want := []string{strings.TrimPrefix(v.host, "http://")}; !slices.Equal(v.Hosts(), want) {
		v.t.Errorf("%s: the page has asked %v", what, v.Hosts())
	}
	hindrances, err := v.Hindrances(v.t.Context())
	v.must(err)
	if len(hindrances) > 0 {
		v.t.Errorf("%s: %s", what, strings.Join(hindrances, "\n"))
	}
}

// again: who comes back later gets another link, and who is logged in stays so.
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
		t.Errorf("who was logged in is %q, %v", text, err)
	}
	v.must(v.Open(strings.TrimSpace(lines[i])))
}

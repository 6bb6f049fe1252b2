//go:build cluster

package server

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/browser"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

var pictures = flag.String("pictures", "", "an existing folder for pictures of the board's pages")

const board = "/board/clusters/default"

// Screens on which every page is looked at.
var screens = map[string]browser.Screen{
	"wide":   {Width: 1280, Height: 800},
	"narrow": {Width: 400, Height: 800, Dark: true},
}

// hostile is a user's name that would be an image if it were not text.
const hostile = `<img src=x onerror=alert(1)>`

// manifest of a job with 2 ranks of 4 GPUs.
const manifest = `apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata:
  name: digits
  annotations: {mlplatform.example.com/user: "` + hostile + `"}
spec:
  framework: pytorch
  image: example.com/trainer:1
  command: [python, train.py]
  replicas: 2
  resources: {limits: {nvidia.com/gpu: 4}}
  runPolicy: {schedulingPolicy: {queue: default, minAvailable: %d}}
`

// visitor of the board.
type visitor struct {
	*browser.Page
	t *testing.T
	s *stack
}

func (v *visitor) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) open(path string) {
	v.t.Helper()
	v.must(v.Open(v.s.origin + path))
}

// row of the list of jobs in JavaScript: the first that has a text.
func row(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('#jobs > tr')].find(r =>
		r.textContent.includes(%q))`, text)
}

// value of an expression of JavaScript.
func value[T any](v *visitor, expression string) T {
	v.t.Helper()
	got, err := browser.Value[T](v.Page, expression)
	v.must(err)
	return got
}

// TestBoard: a browser logs in by the one-time link, submits a job with a mistake and then without, follows
// it without loading a page again, over a kill -9 of the server, suspends one, and logs out. What the pages
// say compares the pages with the API, and checks their accessibility.
func TestBoard(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	s := deployed(t, onVolcano(t), func(c *config.ServerConfiguration) {
		c.Listen.CertificateDir = ""
		c.Board.OneTimeLink.User, c.Board.OneTimeLink.File = "demo:ann", link
	})
	s.letWork(t, "ann", rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "demo:ann"})
	s.start(t)
	b, err := browser.Start(context.Background()) // the test's own ends before it tells what it saw
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)

	v := s.visitor(t, b, "wide")
	v.logIn(link)
	v.submit()
	v.follow()
	v.pages(b)
	v.suspend()
	v.logOut()
}
func (s *stack) visitor(t *testing.T, b *browser.Browser, screen string) *visitor {
	t.Helper()
	p, err := b.Visit(screens[screen])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			at, _ := p.URL()
			text, err := p.Text("body")
			t.Logf("the %s browser is at %s (%v):\n%.4000s\nfaults: %v", screen, at, err, text, p.Faults())
		}
		p.Close()
	})
	return &visitor{p, t, s}
}

// logIn by the link, once.
func (v *visitor) logIn(file string) {
	v.open(board + "/jobs")
	if at, err := v.URL(); err != nil || !strings.Contains(at, "/login?next=") {
		v.t.Fatalf("who has not logged in is at %s, %v", at, err)
	}
	link, err := os.ReadFile(file)
	v.must(err)
	v.must(v.Open(strings.TrimSpace(string(link))))
	if text, err := v.Text(".user"); err != nil || text != "demo:ann" {
		v.t.Fatalf("logged in as %q, %v", text, err)
	}
	if err := v.Open(strings.TrimSpace(string(link))); err == nil {
		v.t.Error("the link counts twice")
	}
}

// submit a job: first with more ranks than it has, which the page reports next to the unchanged YAML.
func (v *visitor) submit() {
	v.open(board + "/submit")
	enter := func(text string) {
		v.must(v.Do(
			chromedp.SetValue(chromedp.CSS("#f-namespace"), "clever"),
			chromedp.SetValue(chromedp.CSS("#manifest"), text),
			chromedp.Click(chromedp.CSS(`button[value="submit-manifest"]`)),
		))
	}
	wrong := fmt.Sprintf(manifest, 9)
	enter(wrong)
	text, err := v.Text("#manifest-errors")
	v.must(err)
	if !strings.Contains(text, "minAvailable") {
		v.t.Errorf("the mistake is reported as %q", text)
	}
	if typed := value[string](v, `document.querySelector('#manifest').value`); strings.TrimSpace(typed) !=
		strings.TrimSpace(wrong) {
		v.t.Errorf("what was typed is %q now", typed)
	}
	enter(fmt.Sprintf(manifest, 2))
	v.must(v.Until(`location.pathname.endsWith('/namespaces/clever/jobs/digits')`))
}

// follow the job on the page of the jobs, which is loaded once.
func (v *visitor) follow() {
	v.open(board + "/jobs")
	v.must(v.Do(chromedp.Evaluate[chromedp.Void](`window.loaded = true`)))
	v.must(v.Until(row("digits") + `?.querySelector('.phase').textContent === 'Running'`))
	v.equalsAPI()
	if images := value[int](v, `document.querySelectorAll('img').length`); images > 0 {
		v.t.Errorf("%d images", images)
	}
	if reported := value[string](v, row("digits")+`.textContent`); !strings.Contains(reported, hostile) {
		v.t.Errorf("the row says %q", reported)
	}
	v.s.kill(v.t)
	v.must(v.Until(`document.querySelector('#connection').textContent !== ''`))
	v.s.complete(v.t, "digits")
	if still := value[string](v, row("digits")+`.querySelector('.phase').textContent`); still != "Running" {
		v.t.Errorf("without a connection it shows %q", still)
	}
	v.s.start(v.t)
	v.must(v.Until(row("digits") + `?.querySelector('.phase').textContent === 'Succeeded'`))
	v.must(v.Until(`document.querySelector('#connection').textContent === ''`))
	if !value[bool](v, `window.loaded === true`) {
		v.t.Error("the page was loaded again")
	}
	// Answers that are errors, and a server that is away, are part of the story.
	for _, fault := range v.Faults() {
		if !strings.HasPrefix(fault, "network: Failed to load resource") {
			v.t.Errorf("the browser complains: %s", fault)
		}
	}
	if want := []string{v.s.api}; !slices.Equal(v.Hosts(), want) {
		v.t.Errorf("the page has asked %v", v.Hosts())
	}
}

// equalsAPI compares the job's row with what the API answers the same browser.
func (v *visitor) equalsAPI() {
	type figures struct {
		Phase, Queue string
		GPUs, Gang   string
	}
	shown := value[figures](v, `(r => ({
		Phase: r.querySelector('.phase').textContent, Queue: r.children[6].textContent.trim(),
		GPUs: r.children[5].childNodes[0].textContent.trim(), Gang: r.children[5].querySelector('.of').textContent,
	}))(`+row("digits")+`)`)
	notified := value[figures](v, `fetch('/api/v1/clusters/default/namespaces/clever/trainingjobs/digits')
		.then(r => r.json()).then(j => ({
			Phase: j.status.phase, Queue: j.spec.runPolicy.schedulingPolicy.queue, GPUs: String(j.status.gpus),
			Gang: j.status.gang,
		}))`)
	if shown != notified || notified.GPUs != "8" {
		v.t.Errorf("shown are %+v, and the API says %+v", shown, notified)
	}
}

// pages of the menu, the job's and the login's are accessible, on every screen and in both themes.
func (v *visitor) pages(b *browser.Browser) {
	v.open(board + "/jobs")
	paths := value[[]string](v,
		`[...document.querySelectorAll('nav.menu a')].map(a => a.getAttribute('href'))`)
	job := board + "/namespaces/clever/jobs/digits"
	paths = append(paths, job, job+"/yaml", job+"/delete", "/board/nothing")
	if len(paths) < 6 {
		v.t.Errorf("the menu has %v", paths)
	}
	cookies, err := v.Cookies()
	v.must(err)
	for name := range screens {
		w := v.s.visitor(v.t, b, name)
		w.open("/login")
		w.inspect(name + "-login")
		w.must(w.SetCookies(cookies))
		for _, path := range paths {
			if path == "/board/nothing" {
				if err := w.Open(v.s.origin + path); err == nil {
					v.t.Error("there is a page that is not there")
				}
			} else {
				w.open(path)
			}
			w.inspect(name + strings.ReplaceAll(path, "/", "-"))
		}
	}
}

// inspect the page that is open.
func (v *visitor) inspect(name string) {
	v.t.Helper()
	found, err := v.Hindrances(v.t.Context())
	v.must(err)
	for _, hindrance := range found {
		v.t.Errorf("%s: %s", name, hindrance)
	}
	if *pictures != "" {
		v.must(v.Picture(filepath.Join(*pictures, name+".png")))
	}
}

// suspend another job by the button of its page.
func (v *visitor) suspend() {
	v.s.submitAgain(v.t)
	v.open(board + "/namespaces/clever/jobs/again")
	v.must(v.Until(`document.querySelector('#main .phase').textContent === 'Running'`))
	v.must(v.Click(`button[formaction$="/suspend"]`))
	harness.Until(v.t, "the job is suspended", func(ctx context.Context) (string, error) {
		job := &v1alpha1.TrainingJob{}
		err := v.s.cluster.Client.Get(ctx, client.ObjectKey{Namespace: "clever", Name: "again"}, job)
		if job.Status.Phase != v1alpha1.PhaseSuspended {
			return string(job.Status.Phase), err
		}
		return "", err
	})
	v.must(v.Until(`document.querySelector('#main .phase').textContent === 'Suspended'`))
}

// submitAgain a job of another name, as kubectl does.
func (s *stack) submitAgain(t *testing.T) {
	t.Helper()
	text := strings.Replace(fmt.Sprintf(manifest, 2), "name: digits", "name: again", 1)
	again := &v1alpha1.TrainingJob{}
	if err := yaml.UnmarshalStrict([]byte(text), again); err != nil {
		t.Fatal(err)
	}
	again.Namespace = "clever"
	s.create(t, again)
}

// logOut, after which the browser has nothing that counts.
func (v *visitor) logOut() {
	cookies, err := v.Cookies()
	v.must(err)
	v.must(v.Click(`form[action="/logout"] button`))
	v.must(v.Until(`location.pathname === '/login'`))
	v.must(v.SetCookies(cookies)) // as a user who has kept them
	v.open(board + "/jobs")
	if at, err := v.URL(); err != nil || !strings.Contains(at, "/login?next=") {
		v.t.Errorf("who has logged out is at %s, %v", at, err)
	}
}

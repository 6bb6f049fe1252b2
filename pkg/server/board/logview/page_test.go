package logview

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// body of a page, checked against the content security policy.
func body(t *testing.T, p Page) string {
	t.Helper()
	html, err := p.Body()
	if err != nil {
		t.Fatal(err)
	}
	fragmenttest.Document(t, "<!doctype html><title>x</title><main>"+string(html)+"</main>")
	return string(html)
}

// TestPageOfOne: it has the last lines as text, and the position of the stream.
func TestPageOfOne(t *testing.T) {
	from := &logs{of: map[spec.RankRef]string{
		worker(1): at(1) + " </pre><script>alert(1)</script>\n" + at(2) + " \x1b[32mok\n",
	}}
	q := Query{Rank: worker(1), Lines: 7, Times: true}
	tail := ReadTail(t.Context(), from, q.Rank, q.Options(), maxBytes)
	p := PageOfOne(jobOf(4), q, "/logs", "/job", "/stream", &tail)
	html := body(t, p)
	for _, want := range []string{
		"<i>2026-03-02T09:00:01Z</i> &lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\n</span>",
		`max="5000"`, `<option value="Worker" selected>Worker 0–3</option>`,
		`href="/logs?all=true&amp;index=0&amp;lines=20`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("it has no %s:\n%s", want, html)
		}
	}
	stream, err := url.Parse(p.Stream)
	if err != nil || stream.Path != "/stream" || stream.Query().Get(ParamAfter) != tail.Behind.String() {
		t.Errorf("the stream is %s, want from %s on", p.Stream, tail.Behind)
	}
	if got, err := ParseQuery(jobOf(4), stream.Query()); err != nil || got != q {
		t.Errorf("the stream asks for %+v, %v", got, err)
	}
	if from.asked[0].TailLines != 7 || from.asked[0].Follow {
		t.Errorf("it was asked for %+v", from.asked[0])
	}
}

// TestPageWithoutLog: it has the cause, and no stream.
func TestPageWithoutLog(t *testing.T) {
	q := Query{Rank: worker(0), Lines: 7}
	tail := ReadTail(t.Context(), &logs{}, q.Rank, q.Options(), maxBytes)
	p := PageOfOne(jobOf(4), q, "/logs", "/job", "/stream", &tail)
	html := body(t, p)
	if p.Stream != "" || !strings.Contains(html, "Worker 0: it has no pod. ask again when the job runs") {
		t.Errorf("stream %q:\n%s", p.Stream, html)
	}
}

// TestPageOfAll: each line has its rank, and the page links to the next ranks.
func TestPageOfAll(t *testing.T) {
	from := &logs{of: map[spec.RankRef]string{worker(0): at(1) + " a\n", worker(1): at(0) + " <b>\n"}}
	q := Query{All: true, Rank: worker(0), Lines: 5}
	ranks, next := q.Ranks(jobOf(70))
	tails := ReadTails(t.Context(), from, ranks, q.Options())
	p := PageOfAll(jobOf(70), q, "/logs", "/job", "/stream", &tails, len(ranks), next)
	html := body(t, p)
	for _, want := range []string{
		"<b>Worker 1</b> &lt;b&gt;\n</span><span class=\"line\"><b>Worker 0</b> a\n",
		"64 ranks from Worker 0 on</h2>",
		"/logs?all=true&amp;index=64&amp;lines=5", "<b>Worker 2</b> it has no pod", `max="200"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("it has no %s:\n%s", want, html)
		}
	}
	_, after, _ := strings.Cut(p.Stream, "&after=")
	behind, err := ParsePositions(after, ranks)
	if diff := cmp.Diff(tails.Behind, behind); err != nil || diff != "" || len(behind) != 2 {
		t.Errorf("it is followed by %s from %v on, %v:\n%s", p.Stream, behind, err, diff)
	}
	q.Previous = true
	if p := PageOfAll(jobOf(2), q, "/logs", "/job", "/stream", &tails, 2, nil); p.Stream != "" {
		t.Error("what is over is followed")
	}
}

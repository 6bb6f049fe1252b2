package listview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
)

var created = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

const hostile = `<img src=x onerror="alert(1)">`

func newJob(namespace, name string, edit func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name),
		CreationTimestamp: metav1.NewTime(created), Annotations: map[string]string{},
	}}
	if edit != nil {
		edit(job)
	}
	return job
}

// jobs, each with another feature, by namespace and name.
func jobs() []*v1alpha1.TrainingJob {
	return []*v1alpha1.TrainingJob{
		newJob("a", "bert", func(job *v1alpha1.TrainingJob) {
			job.CreationTimestamp = metav1.NewTime(created.Add(-time.Hour))
			job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
			job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
			job.Status = v1alpha1.TrainingJobStatus{
				Phase: v1alpha1.PhaseRunning, GPUs: 8, Gang: "4/4", Message: "trains",
				Progress: &v1alpha1.ProgressStatus{
					Percent: new(int32(40)), Step: 400,
					EstimatedCompletionTime: new(metav1.NewTime(created.Add(time.Hour))),
				},
			}
		}),
		newJob("a", "gpt", func(job *v1alpha1.TrainingJob) {
			job.CreationTimestamp = metav1.NewTime(created.Add(-2 * time.Hour))
			job.Annotations["owner"] = hostile
			job.Status = v1alpha1.TrainingJobStatus{
				Phase: v1alpha1.PhaseQueued, GPUs: 16, Scheduling: &v1alpha1.SchedulingStatus{
					Queue:   hostile,
					Blocker: &v1alpha1.Blocker{Reason: "QuotaExceeded", Message: hostile, NextStep: hostile},
				},
			}
		}),
		newJob("b", "cnn", func(job *v1alpha1.TrainingJob) {
			job.Annotations["owner"] = "ann"
			job.DeletionTimestamp = new(metav1.NewTime(created))
			job.Status = v1alpha1.TrainingJobStatus{
				Phase: v1alpha1.PhaseRunning, Progress: &v1alpha1.ProgressStatus{Step: 7},
			}
		}),
		newJob("b", "new", nil),
	}
}

func list(edit ...func(*Query)) *List {
	l := &List{
		Cluster: "main", Jobs: jobs(), UserKeys: []string{"owner"},
		Namespaces: func() []string { return []string{"a", "b"} },
		Query:      Query{Sort: sortAge, Limit: 100, Page: 1},
	}
	l.Row = func(job *v1alpha1.TrainingJob) (fragment.Fragment, error) { return Row(l.Cluster, job, l.UserKeys) }
	for _, e := range edit {
		e(&l.Query)
	}
	return l
}

func render(t *testing.T, l *List) (names []string, fragments map[string]string, page string) {
	t.Helper()
	all, err := l.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	fragmenttest.Check(t, all)
	fragments = map[string]string{}
	for _, f := range all {
		fragments[f.ID] = string(f.HTML)
		if f.In == containerRows {
			names = append(names, f.ID[strings.LastIndexByte(f.ID, '-')+1:])
		}
	}
	body, err := l.Body(all)
	if err != nil {
		t.Fatal(err)
	}
	fragmenttest.Document(t, string(body))
	return names, fragments, string(body)
}

func TestSelected(t *testing.T) {
	sort := func(key string, descending bool) func(*Query) {
		return func(q *Query) { q.Sort, q.Descending = key, descending }
	}
	for name, tt := range map[string]struct {
		reason string
		ask    func(*Query)
		want   []string
	}{
		"all":       {"the youngest first", func(*Query) {}, []string{"cnn", "new", "bert", "gpt"}},
		"oldest":    {"the other way round", sort("age", true), []string{"gpt", "bert", "cnn", "new"}},
		"name":      {"by letters", sort("name", false), []string{"bert", "cnn", "gpt", "new"}},
		"phase":     {"a job's life", sort("phase", false), []string{"new", "gpt", "bert", "cnn"}},
		"gpus":      {"unknown is last", sort("gpus", false), []string{"cnn", "bert", "gpt", "new"}},
		"most gpus": {"unknown is last here, too", sort("gpus", true), []string{"gpt", "bert", "cnn", "new"}},
		"progress":  {"a step is no percentage", sort("progress", true), []string{"bert", "gpt", "cnn", "new"}},
		"end":       {"only what runs ends", sort("end", false), []string{"bert", "gpt", "cnn", "new"}},
		"namespace": {"exactly", func(q *Query) { q.Namespace = "b" }, []string{"cnn", "new"}},
		"queue":     {"of the spec", func(q *Query) { q.Queue = "research" }, []string{"bert"}},
		"user":      {"by the annotation", func(q *Query) { q.User = "ann" }, []string{"cnn"}},
		"phases": {"some", func(q *Query) { q.Phases = []v1alpha1.Phase{v1alpha1.PhaseQueued, Unseen} },
			[]string{"new", "gpt"}},
		"text":   {"in the reason, in any case", func(q *Query) { q.Text = "TRAINS" }, []string{"bert"}},
		"name2":  {"as kubectl names it", func(q *Query) { q.Text = "b/c" }, []string{"cnn"}},
		"page 2": {"by name", func(q *Query) { q.Sort, q.Limit, q.Page = "name", 3, 2 }, []string{"new"}},
		"none":   {"nothing matches", func(q *Query) { q.Text = "rnn" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, _ := render(t, list(tt.ask))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: %s", tt.reason, diff)
			}
		})
	}
}

// TestEveryColumnSorts: each order has every job, and is stable.
func TestEveryColumnSorts(t *testing.T) {
	for key := range compares {
		for _, descending := range []bool{false, true} {
			l := list(func(q *Query) { q.Sort, q.Descending = key, descending })
			got, _ := l.selected()
			again, _ := l.selected()
			if len(got) != 4 || !slices.Equal(got, again) {
				t.Errorf("%s: %d jobs", key, len(got))
			}
		}
	}
	for _, c := range (body{List: list()}).Columns() {
		if _, has := compares[c.Key]; c.Key != "" && !has {
			t.Errorf("column %s cannot be sorted by", c.Key)
		}
	}
}

func contains(t *testing.T, html string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(html, part) {
			t.Errorf("%q is not in %s", part, html)
		}
	}
}

// TestTextStaysText: text of users is escaped, and the page has no inline style or script.
func TestTextStaysText(t *testing.T) {
	_, fragments, page := render(t, list(func(q *Query) { q.Text = `"><script>` }))
	contains(t, page, "&#34;&gt;&lt;script&gt;")
	if len(fragments) != 3 {
		t.Errorf("there are %d fragments", len(fragments))
	}
	_, fragments, page = render(t, list(func(q *Query) { q.Phases = []v1alpha1.Phase{v1alpha1.PhaseQueued} }))
	if html := fragments["job-uid-a-gpt"]; strings.Count(html, "&lt;img") != 4 {
		t.Error(html)
	}
	if strings.Contains(page, "<img") {
		t.Error(page)
	}
}

func TestRow(t *testing.T) {
	_, fragments, _ := render(t, list())
	contains(t, fragments["job-uid-a-bert"], `class="phase phase-running">Running<`,
		`<a href="/board/clusters/main/namespaces/a/jobs/bert">bert</a>`, `<progress max="100" value="40"`, `40 %`,
		`<time datetime="2026-11-25T13:00:00Z" data-time="until">`, `>8 <span class="of"`, "4/4", ">research<",
		">high<", `<time datetime="2026-11-25T11:00:00Z" data-time="since">2026-11-25 11:00 UTC</time>`, ">trains<")
	contains(t, fragments["job-uid-b-cnn"], "deleting", "step 7", `class="number">0</td>`)
	unseen := fragments["job-uid-b-new"]
	contains(t, unseen, "phase-unseen", `class="number"><span class="unknown" title="unknown">?</span>`)
	if n := strings.Count(unseen, `title="unknown"`); n != 3 {
		t.Errorf("%d things are unknown, want progress, end and GPUs: %s", n, unseen)
	}
}

// TestPages: links keep the query, and a page beyond the last has a note.
func TestPages(t *testing.T) {
	ask := func(page int) func(*Query) {
		return func(q *Query) { q.Sort, q.Limit, q.Page, q.Namespace = "name", 1, page, "b" }
	}
	_, fragments, _ := render(t, list(ask(2)))
	contains(t, fragments["pager"], "2–2 of 2, page 2 of 2", `href="?limit=1&amp;namespace=b&amp;sort=name"`)
	if strings.Contains(fragments["pager"], "next") {
		t.Error(fragments["pager"])
	}
	_, fragments, _ = render(t, list(ask(9)))
	contains(t, fragments["pager"], "none of 2", "page=2")
	contains(t, fragments["nothing"], "only 2 pages", "page=2")
	_, fragments, _ = render(t, list(func(q *Query) { q.Text = "rnn" }))
	contains(t, fragments["nothing"], "No job matches")
	empty := list()
	empty.Jobs = nil
	_, fragments, _ = render(t, empty)
	contains(t, fragments["nothing"], "no job that you may list")
}

// TestCounts: they include all phases, also with a filter of phases.
func TestCounts(t *testing.T) {
	_, fragments, _ := render(t, list(func(q *Query) { q.Phases = []v1alpha1.Phase{v1alpha1.PhaseFailed} }))
	for id, want := range map[string]string{
		"all": "<b>4</b> All", "running": "<b>2</b> Running", "queued": "<b>1</b> Queued", "unseen": "<b>1</b>",
		"failed": `aria-current="true"><b>0</b> Failed`,
	} {
		contains(t, fragments["count-"+id], want)
	}
	if _, has := fragments["count-suspended"]; has {
		t.Error("a phase that no job is in is counted")
	}
}

// BenchmarkUpdate measures an update of a page of 500 rows, of 1,000 jobs of which 10 have changed: the bytes
// sent, and the rows rendered.
func BenchmarkUpdate(b *testing.B) {
	l := &List{Cluster: "main", Query: Query{Sort: sortAge, Limit: 500, Page: 1}}
	for n := range 1000 {
		l.Jobs = append(l.Jobs, newJob("a", fmt.Sprintf("job-%04d", n), func(job *v1alpha1.TrainingJob) {
			*job = *jobs()[0]
			job.Name, job.UID, job.ResourceVersion = fmt.Sprintf("job-%04d", n), types.UID(fmt.Sprint("u", n)), "0"
		}))
	}
	type version struct {
		uid types.UID
		of  string
	}
	kept, rendered := map[version]fragment.Fragment{}, 0
	l.Row = func(job *v1alpha1.TrainingJob) (fragment.Fragment, error) {
		key := version{job.UID, job.ResourceVersion}
		if f, has := kept[key]; has {
			return f, nil
		}
		rendered++
		f, err := Row(l.Cluster, job, nil)
		kept[key] = f
		return f, err
	}
	all, err := l.Fragments()
	if err != nil {
		b.Fatal(err)
	}
	whole, state := fragment.Whole(all)
	first, _ := whole.Encode()
	rendered = 0
	sent, fragments, updates := 0, 0, 0
	for b.Loop() {
		updates++
		for n := range 10 {
			changed := l.Jobs[n*50].DeepCopy()
			changed.ResourceVersion = fmt.Sprint(updates)
			changed.Status.Progress.Step++
			changed.Status.Progress.Percent = new(int32(updates % 100))
			l.Jobs[n*50] = changed
		}
		if all, err = l.Fragments(); err != nil {
			b.Fatal(err)
		}
		var patch fragment.Patch
		patch, state = fragment.Diff(state, all)
		message, err := patch.Encode()
		if err != nil {
			b.Fatal(err)
		}
		sent += len(message)
		fragments += len(patch.Set)
	}
	b.ReportMetric(float64(len(first)), "B/page")
	b.ReportMetric(float64(sent)/float64(updates), "B/update")
	b.ReportMetric(float64(fragments)/float64(updates), "fragments/update")
	b.ReportMetric(float64(rendered)/float64(updates), "rendered/update")
}

package listview

import (
	"cmp"
	"embed"
	"html/template"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

//go:embed templates
var files embed.FS

var templates = template.Must(parameters.WithNamespace(template.New("")).Funcs(template.FuncMap{
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"date":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
}).ParseFS(files, "templates/*.html"))

// List is the jobs that its reader may see, and the query.
type List struct {
	Cluster string
	// Jobs by namespace and name; read only.
	Jobs     []*v1alpha1.TrainingJob
	Query    Query
	UserKeys []string
	// Namespaces that the reader may see, for the filter, sorted; nil if they are unknown. It is called once for
	// the frame of the page.
	Namespaces func() []string
	// Row renders a job as the function Row does. It can cache the result.
	Row func(*v1alpha1.TrainingJob) (fragment.Fragment, error)
}

// Keys of columns.
const (
	sortName     = "name"
	sortPhase    = "phase"
	sortQueue    = "queue"
	sortPriority = "priority"
	sortGPUs     = "gpus"
	sortProgress = "progress"
	sortEnd      = "end"
	sortUser     = "user"
	sortAge      = "age"
)

// known values are compared; unknown ones come last in both directions.
type known[T cmp.Ordered] struct {
	value T
	is    bool
}

func text(value string) known[string] { return known[string]{value, value != ""} }

func compare[T cmp.Ordered](of func(*List, *v1alpha1.TrainingJob) known[T]) comparison {
	return func(l *List, a, b *v1alpha1.TrainingJob) (int, bool) {
		x, y := of(l, a), of(l, b)
		if !x.is || !y.is {
			return cmp.Compare(flag(!x.is), flag(!y.is)), true
		}
		return cmp.Compare(x.value, y.value), false
	}
}

func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}

// comparison of two jobs in a column. always reports that the order holds in both directions.
type comparison func(l *List, a, b *v1alpha1.TrainingJob) (order int, always bool)

var compares = map[string]comparison{
	sortName: compare(func(_ *List, job *v1alpha1.TrainingJob) known[string] { return text(job.Name) }),
	sortPhase: compare(func(_ *List, job *v1alpha1.TrainingJob) known[int] {
		return known[int]{slices.Index(phases, phaseOf(job)), true}
	}),
	sortQueue: compare(func(_ *List, job *v1alpha1.TrainingJob) known[string] {
		return text(history.QueueOf(job))
	}),
	sortPriority: compare(func(_ *List, job *v1alpha1.TrainingJob) known[string] {
		return text(spec.PriorityClass(job))
	}),
	sortGPUs: compare(func(_ *List, job *v1alpha1.TrainingJob) known[int64] {
		return known[int64]{job.Status.GPUs, phaseOf(job) != Unseen && job.Status.GPUsUnknown == ""}
	}),
	sortProgress: compare(func(_ *List, job *v1alpha1.TrainingJob) known[int32] {
		if p := job.Status.Progress; p != nil && p.Percent != nil {
			return known[int32]{*p.Percent, true}
		}
		return known[int32]{}
	}),
	sortEnd: compare(func(l *List, job *v1alpha1.TrainingJob) known[int64] {
		if end := explain.EndOf(job); end != nil {
			return known[int64]{end.Unix(), true}
		}
		return known[int64]{}
	}),
	sortUser: compare(func(l *List, job *v1alpha1.TrainingJob) known[string] {
		return text(history.UserOf(job, l.UserKeys))
	}),
	sortAge: compare(func(_ *List, job *v1alpha1.TrainingJob) known[int64] {
		return known[int64]{-job.CreationTimestamp.Unix(), true}
	}),
}

// selected returns the jobs of the query in its order, and the counts by phase without its filter of phases.
func (l *List) selected() (jobs []*v1alpha1.TrainingJob, counts map[v1alpha1.Phase]int) {
	counts = map[v1alpha1.Phase]int{}
	for _, job := range l.Jobs {
		if !l.passes(job) {
			continue
		}
		phase := phaseOf(job)
		counts[phase]++
		if len(l.Query.Phases) == 0 || slices.Contains(l.Query.Phases, phase) {
			jobs = append(jobs, job)
		}
	}
	by := compares[l.Query.Sort]
	slices.SortStableFunc(jobs, func(a, b *v1alpha1.TrainingJob) int { // already by namespace and name
		order, always := by(l, a, b)
		if l.Query.Descending && !always {
			return -order
		}
		return order
	})
	return jobs, counts
}

// passes reports whether a job matches all but the phases of the query.
func (l *List) passes(job *v1alpha1.TrainingJob) bool {
	q := l.Query
	if q.Namespace != "" && q.Namespace != job.Namespace || q.Queue != "" && q.Queue != history.QueueOf(job) ||
		q.User != "" && q.User != history.UserOf(job, l.UserKeys) {
		return false
	}
	if q.Text == "" {
		return true
	}
	looked := strings.ToLower(strings.Join([]string{
		job.Namespace + "/" + job.Name, history.QueueOf(job), history.UserOf(job, l.UserKeys),
		spec.PriorityClass(job), explain.Of(job, time.Time{}).Summary,
	}, "\n"))
	return strings.Contains(looked, strings.ToLower(q.Text))
}

// Fragments of the page: the counts by phase, the rows, the pager, and a note if there are no rows.
func (l *List) Fragments() ([]fragment.Fragment, error) {
	jobs, counts := l.selected()
	out := &fragment.Page{Templates: templates}
	l.counts(out, counts)
	p := parameters.NewPager(len(jobs), l.Query.Limit, l.Query.Page, func(page int) string {
		return l.Query.at(page).URL()
	})
	for _, job := range jobs[p.First-1 : p.Last] {
		row, err := l.Row(job)
		if err != nil {
			return nil, err
		}
		out.All = append(out.All, row)
	}
	out.Add("pager", "pages", "pager", p)
	if p.First <= p.Last {
		return out.All, out.Err
	}
	note := struct {
		Any  bool // whether there are jobs at all
		Page int  // the last one, if the query's is beyond it
		Last string
		All  string
	}{Any: len(l.Jobs) > 0, All: Query{Sort: sortAge, Limit: defaultLimit, Page: 1}.URL()}
	if len(jobs) > 0 {
		note.Page, note.Last = p.Pages, l.Query.at(p.Pages).URL()
	}
	out.Add("note", "notes", "nothing", note)
	return out.All, out.Err
}

// count of the jobs of a phase.
type count struct {
	ID, Class, Name, Href string
	Number                int
	Current               bool
}

func (l *List) counts(out *fragment.Page, of map[v1alpha1.Phase]int) {
	total := 0
	for _, n := range of {
		total += n
	}
	chosen := l.Query.Phases
	all := []count{{"count-all", "phase-all", "All", l.Query.only().URL(), total, len(chosen) == 0}}
	for _, phase := range phases {
		current := slices.Equal(chosen, []v1alpha1.Phase{phase})
		if of[phase] > 0 || current {
			key := strings.ToLower(string(phase))
			all = append(all, count{
				"count-" + key, "phase-" + key, string(phase), l.Query.only(phase).URL(), of[phase], current,
			})
		}
	}
	for _, c := range all {
		out.Add("count", "counts", c.ID, c)
	}
}

// Body is the frame of the page, with its fragments in it. Updates do not change the filter's suggestions.
func (l *List) Body(fragments []fragment.Fragment) (template.HTML, error) {
	b := body{List: l, Frame: fragments}
	b.Namespace = parameters.NewNamespaceField(l.Query.Namespace, l.Namespaces)
	for _, job := range l.Jobs {
		b.Queues = append(b.Queues, history.QueueOf(job))
		b.Users = append(b.Users, history.UserOf(job, l.UserKeys))
	}
	for _, values := range []*[]string{&b.Queues, &b.Users} {
		*values = parameters.Suggestions(*values)
	}
	return fragment.Execute(templates, "jobs", b)
}

// body is the data of the frame's template.
type body struct {
	*List
	Namespace     parameters.NamespaceField
	Queues, Users []string
	fragment.Frame
}

// Choices of phases.
func (b body) Choices() []parameters.Choice { return parameters.Choices(phases, b.Query.Phases) }

// column of the table.
type column struct {
	Key, Name, Title, Href string
	// Sorted is the value of aria-sort.
	Sorted string
	Number bool
}

// Columns of the table.
func (b body) Columns() []column {
	all := []column{
		{Key: sortPhase, Name: "Phase"}, {Key: sortName, Name: "Job"},
		{Key: sortProgress, Name: "Progress"},
		{Key: sortEnd, Name: "Ends", Title: "estimated, if nothing interrupts it"},
		{Name: "Reason"}, {Key: sortGPUs, Name: "GPUs", Number: true}, {Key: sortQueue, Name: "Queue"},
		{Key: sortPriority, Name: "Priority"}, {Key: sortUser, Name: "User"}, {Key: sortAge, Name: "Age"},
	}
	for i, c := range all {
		if c.Key == "" {
			continue
		}
		all[i].Href = b.Query.by(c.Key).URL()
		switch {
		case c.Key != b.Query.Sort:
			all[i].Sorted = "none"
		case b.Query.Descending:
			all[i].Sorted = "descending"
		default:
			all[i].Sorted = "ascending"
		}
	}
	return all
}

// Sort is the hidden field sort of the filter; empty for the default.
func (b body) Sort() string { return b.Query.Values().Get("sort") }

// Limit is the hidden field limit; empty for the default.
func (b body) Limit() string { return b.Query.Values().Get("limit") }

package queueview

import (
	"cmp"
	"embed"
	"html/template"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

//go:embed templates
var files embed.FS

// CSS of the page. It needs the board's custom properties.
//
//go:embed queueview.css
var CSS string

var templates = template.Must(parameters.WithNamespace(template.New("")).Funcs(template.FuncMap{
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"date":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	"lower": func(p v1alpha1.Phase) string { return strings.ToLower(string(p)) },
}).ParseFS(files, "templates/*.html"))

// maxJobs of a queue that run, and as many that wait, are listed; the others are counted.
const maxJobs = 100

// View is the page of a cluster's queues.
type View struct {
	Cluster string
	// List is what rest.Server.Queues returns for the query's namespace; read only.
	List  queues.List
	Query Query
	Links Links
	// Namespaces that the reader may see, for the filter, sorted; nil if they are unknown. It is called once for
	// the frame of the page.
	Namespaces func() []string
}

// Links to other pages of the cluster.
type Links struct {
	// Job is the path of a job's page.
	Job func(namespace, name string) string
}

// Fragments of the page, in the containers of Body.
func (v *View) Fragments() ([]fragment.Fragment, error) {
	p := &fragment.Page{Templates: templates}
	for _, u := range v.List.Unreadable {
		id := "queue-unreadable-" + fragment.Hash(u.Kind)
		p.Add("unreadable", "queue-notes", id, struct {
			ID string
			queues.Unreadable
		}{id, u})
	}
	shown := 0
	for i := range v.List.Items {
		if of := &v.List.Items[i]; v.Query.passes(of) {
			shown++
			q := v.queue(of)
			p.Add("queue", "queues", q.ID, q)
			for _, j := range q.Waits {
				p.Add("waits", q.ID+"-waits", j.ID, j)
			}
			for _, j := range q.Runs {
				p.Add("runs", q.ID+"-runs", j.ID, j)
			}
		}
	}
	if shown == 0 {
		p.Add("nothing", "queue-notes", "queue-nothing", struct {
			Any bool
			All string
		}{len(v.List.Items) > 0, Query{}.URL()})
	}
	return p.All, p.Err
}

// queue is the data of one queue.
type queue struct {
	ID string
	*queues.Queue
	Title, Explained string
	// ParentID is the id of its parent on the page; empty if that is not shown.
	ParentID          string
	Quotas            []quota
	Runs, Waits       []job
	MoreRun, MoreWait int
	Stopped           bool
	// MoreGPUsRun and MoreGPUsWait report whether the GPUs of such a job are unknown.
	MoreGPUsRun, MoreGPUsWait bool
}

// job in a queue. Each is a fragment, since a queue can have many.
type job struct {
	ID string
	queues.Job
	Href string
}

// explained describes the kinds for new users.
var explained = map[string]string{
	"Queue":         "Volcano's queue: jobs of all namespaces that name it",
	"ClusterQueue":  "Kueue's queue of the whole cluster, with its quota",
	"LocalQueue":    "Kueue's queue of a namespace, which leads to a ClusterQueue",
	"ElasticQuota":  "the quota of a namespace under the coscheduling plugin",
	"ResourceQuota": "the quota of a namespace, for the pods of every scheduler",
}

func (v *View) queue(of *queues.Queue) queue {
	q := queue{
		ID: idOf(of.Kind, of.Namespace, of.Name), Queue: of, Title: of.Name, Explained: explained[of.Kind],
		Stopped: of.StateReason != "",
	}
	resources := slices.Clone(of.Resources)
	slices.SortStableFunc(resources, func(a, b queues.Resource) int {
		return cmp.Compare(rank(a.Name), rank(b.Name))
	})
	for i := range resources {
		q.Quotas = append(q.Quotas, quotaOf(of.Kind, &resources[i]))
	}
	q.Runs, q.MoreRun = v.jobs(q.ID, of.Running)
	q.Waits, q.MoreWait = v.jobs(q.ID, of.Waiting)
	q.MoreGPUsRun, q.MoreGPUsWait = queues.UnknownGPUs(of.Running), queues.UnknownGPUs(of.Waiting)
	for i := range v.List.Items {
		if p := &v.List.Items[i]; leads(of, p) && v.Query.passes(p) {
			q.ParentID = idOf(p.Kind, p.Namespace, p.Name)
		}
	}
	return q
}

// leads reports whether the parent of a queue is another queue. The cohort of a ClusterQueue is not.
func leads(of, to *queues.Queue) bool {
	return of.Parent == to.Name && (of.Kind == "LocalQueue" && to.Kind == "ClusterQueue" ||
		of.Kind == "Queue" && to.Kind == "Queue")
}

func (v *View) jobs(queue string, all []queues.Job) (shown []job, more int) {
	for _, j := range all[:min(len(all), maxJobs)] {
		id := queue + "-" + fragment.Hash(j.Namespace, j.Name)
		shown = append(shown, job{id, j, v.Links.Job(j.Namespace, j.Name)})
	}
	return shown, len(all) - len(shown)
}

func idOf(kind, namespace, name string) string {
	return "queue-" + fragment.Hash(kind, namespace, name)
}

// Body is the frame of the page, with its fragments in it. Updates do not change the filter's choices.
func (v *View) Body(fragments []fragment.Fragment) (template.HTML, error) {
	b := body{
		View: v, Frame: fragments, Namespace: parameters.NewNamespaceField(v.Query.Namespace, v.Namespaces),
	}
	for i := range v.List.Items {
		if s := string(v.List.Items[i].Scheduler); s != "" {
			b.Schedulers = append(b.Schedulers, s)
		}
	}
	if v.Query.Scheduler != "" {
		b.Schedulers = append(b.Schedulers, v.Query.Scheduler)
	}
	slices.Sort(b.Schedulers)
	b.Schedulers = slices.Compact(b.Schedulers)
	return fragment.Execute(templates, "queues", b)
}

// body is the data of the frame's template.
type body struct {
	*View
	Namespace  parameters.NamespaceField
	Schedulers []string
	fragment.Frame
}

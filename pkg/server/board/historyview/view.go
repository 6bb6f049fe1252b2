package historyview

import (
	"embed"
	"html/template"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

//go:embed templates
var files embed.FS

var templates = template.Must(parameters.WithNamespace(template.New("")).Funcs(template.FuncMap{
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"date":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
}).ParseFS(files, "templates/*.html"))

// View is the list of the past and present jobs of a cluster.
type View struct {
	Cluster string
	// Jobs of the page, as rest.Server.HistoryJobs returns them; read only.
	Jobs []history.Job
	// Next is the token of the next page, or empty.
	Next  string
	Query Query
	Links Links
	// Namespaces that the reader may see, for the filter, sorted; nil if they are unknown. It is called once for
	// the frame of the page.
	Namespaces func() []string
}

// Links to other pages of the cluster.
type Links struct {
	// Job is the path of the page of an existing job.
	Job func(namespace, name string) string
	// Record is the path of the page of a past job, or empty.
	Record func(uid string) string
}

// row is the data of one job.
type row struct {
	history.Job
	ID, Href string
	// Gone reports whether the job is known to be deleted.
	Gone bool
	// Ended is when it completed, or else was deleted; Before reports that it was at an unknown time before
	// that.
	Ended  *time.Time
	Before bool
}

// Class of the phase in the style sheet.
func (r row) Class() string { return "phase-" + strings.ToLower(string(r.Phase)) }

func (v *View) row(job *history.Job) row {
	r := row{Job: *job, ID: "past-" + string(job.UID), Gone: job.Deleted != nil || job.DeletedBefore != nil}
	if r.Gone {
		r.Href = v.Links.Record(string(job.UID))
	} else {
		r.Href = v.Links.Job(job.Namespace, job.Name)
	}
	switch {
	case job.Completed != nil:
		r.Ended = job.Completed
	case job.Deleted != nil:
		r.Ended = job.Deleted
	case job.DeletedBefore != nil:
		r.Ended, r.Before = job.DeletedBefore, true
	}
	return r
}

// Fragments of the page, in the containers of Body.
func (v *View) Fragments() ([]fragment.Fragment, error) {
	p := &fragment.Page{Templates: templates}
	for i := range v.Jobs {
		r := v.row(&v.Jobs[i])
		p.Add("past", "past", r.ID, r)
	}
	pages := struct {
		First, Next, All string
		Number           int
		Any              bool // whether the query restricts the list
	}{Number: len(v.Jobs), All: Query{}.URL(), Any: v.Query.URL() != Query{}.URL()}
	if v.Query.Continue != "" {
		pages.First = v.Query.at("").URL()
	}
	if v.Next != "" {
		pages.Next = v.Query.at(v.Next).URL()
	}
	p.Add("pager", "past-pages", "past-pager", pages)
	return p.All, p.Err
}

// Body is the frame of the page, with its fragments in it. The filter suggests values of the jobs on the
// page.
func (v *View) Body(fragments []fragment.Fragment) (template.HTML, error) {
	b := body{View: v, Frame: fragments}
	b.Namespace = parameters.NewNamespaceField(v.Query.Namespace, v.Namespaces)
	for i := range v.Jobs {
		b.Queues = append(b.Queues, v.Jobs[i].Queue)
		b.Users = append(b.Users, v.Jobs[i].User)
	}
	for _, values := range []*[]string{&b.Queues, &b.Users} {
		*values = parameters.Suggestions(*values)
	}
	return fragment.Execute(templates, "history", b)
}

// body is the data of the frame's template.
type body struct {
	*View
	Namespace     parameters.NamespaceField
	Queues, Users []string
	fragment.Frame
}

// Choices of phases.
func (b body) Choices() []parameters.Choice { return parameters.Choices(phases, b.Query.Phases) }

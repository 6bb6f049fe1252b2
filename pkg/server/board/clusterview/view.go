package clusterview

import (
	"embed"
	"html/template"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

//go:embed templates
var files embed.FS

// CSS of the page. It needs that of package palette, and the board's custom properties.
//
//go:embed clusterview.css
var CSS string

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"date":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	"number": number,
	"nodes":  func(n int) string { return count(n, "node", "nodes") },
	"gpus":   func(n int64) string { return count(n, "GPU", "GPUs") },
	"lower":  strings.ToLower,
}).ParseFS(files, "templates/*.html"))

// View is the page of a cluster's map.
type View struct {
	Cluster string
	// Map for its reader; read only.
	Map   placement.Map
	Query Query
	Links Links
	// Tiles is the cache; nil for none.
	Tiles *Tiles
}

// Links to other pages of the cluster.
type Links struct {
	// Job is the path of a job's page.
	Job func(namespace, name string) string
	// Waiting is the path of the list of waiting jobs, Queues that of the queues.
	Waiting, Queues string
}

// asked returns the highlighted gang, and whether there is one: -2 if it is not on the map.
func (v *View) asked() (index int, is bool) {
	if v.Query.Gang == "" {
		return 0, false
	}
	i := slices.IndexFunc(v.Map.Gangs, func(g placement.Gang) bool { return string(g.UID) == v.Query.Gang })
	if i < 0 {
		return -2, true
	}
	return i, true
}

// Fragments of the page, in the containers of Body.
func (v *View) Fragments() ([]fragment.Fragment, error) {
	p := &fragment.Page{Templates: templates}
	v.notes(p)
	v.totals(p)
	v.gangs(p)
	v.waiting(p)
	v.detail(p)
	v.groups(p)
	return p.All, p.Err
}

// notes are problems of the map.
func (v *View) notes(p *fragment.Page) {
	for _, problem := range v.Map.Problems {
		id := "map-problem-" + fragment.Hash(problem.Detail)
		p.Add("problem", "map-notes", id, struct {
			ID string
			placement.Problem
		}{id, problem})
	}
	if _, asked := v.asked(); asked {
		p.Add("asked", "map-notes", "map-asked", v.askedNote())
	}
	hasKind := func(g placement.Group) bool { return g.Kind == v.Query.Kind }
	if v.Map.Totals.Nodes == 0 {
		p.Add("nothing", "map-notes", "map-nothing", v)
	} else if v.Query.Kind != "" && !slices.ContainsFunc(v.Map.Groups, hasKind) {
		p.Add("no-kind", "map-notes", "map-no-kind",
			struct{ Kind, All string }{v.Query.Kind, v.Query.only("").URL()})
	}
}

// askedNote names the highlighted gang.
type askedNote struct {
	Gang     *placement.Gang // nil: it holds nothing, or is hidden
	Job, All string
}

func (v *View) askedNote() askedNote {
	note := askedNote{All: v.Query.of(v.Query.Gang).URL()}
	if i, _ := v.asked(); i >= 0 {
		g := &v.Map.Gangs[i]
		note.Gang, note.Job = g, v.Links.Job(g.Namespace, g.Name)
	}
	return note
}

// Body is the frame of the page, with its fragments in it.
func (v *View) Body(fragments []fragment.Fragment) (template.HTML, error) {
	return fragment.Execute(templates, "map", body{v, fragments})
}

// body is the data of the frame's template.
type body struct {
	*View
	fragment.Frame
}

// AsMap and AsTable are the URLs of the page's two views.
func (b body) AsMap() string   { return b.Query.as(false).URL() }
func (b body) AsTable() string { return b.Query.as(true).URL() }

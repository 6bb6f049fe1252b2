package clusterview

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/palette"
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

// Bounds of lists beside the map.
const (
	maxGangs   = 24
	maxWaiting = 12
)

// View is the page of a cluster's map.
type View struct {
	Cluster string
	// Map as its reader may see it; read only.
	Map   placement.Map
	Query Query
	Links Links
	// Tiles keeps what it has rendered; nil for none.
	Tiles *Tiles
}

// Links to other pages of the cluster.
type Links struct {
	// Job is the path of a job's page.
	Job func(namespace, name string) string
	// Waiting is the path of the page that lists the jobs that wait, Queues that of the queues.
	Waiting, Queues string
}

// asked returns the gang that the query asks for, and whether it asks for one: -2 where it is not there.
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

// page collects fragments.
type page struct {
	all []fragment.Fragment
	err error
}

// add renders a fragment; after an error it does nothing.
func (p *page) add(name, in, id string, data any) {
	if p.err != nil {
		return
	}
	f, err := fragment.Render(templates, name, in, id, data)
	p.all, p.err = append(p.all, f), err
}

// Fragments of the page, in the containers of Body.
func (v *View) Fragments() ([]fragment.Fragment, error) {
	p := &page{}
	v.notes(p)
	v.totals(p)
	v.gangs(p)
	v.waiting(p)
	v.detail(p)
	v.groups(p)
	return p.all, p.err
}

// notes are what is wrong with the map.
func (v *View) notes(p *page) {
	for _, problem := range v.Map.Problems {
		id := "map-problem-" + hash(problem.Detail)
		p.add("problem", "map-notes", id, struct {
			ID string
			placement.Problem
		}{id, problem})
	}
	if _, asked := v.asked(); asked {
		p.add("asked", "map-notes", "map-asked", v.askedNote())
	}
	hasKind := func(g placement.Group) bool { return g.Kind == v.Query.Kind }
	if v.Map.Totals.Nodes == 0 {
		p.add("nothing", "map-notes", "map-nothing", v)
	} else if v.Query.Kind != "" && !slices.ContainsFunc(v.Map.Groups, hasKind) {
		p.add("no-kind", "map-notes", "map-no-kind",
			struct{ Kind, All string }{v.Query.Kind, v.Query.only("").URL()})
	}
}

// askedNote says which gang is shown among the others.
type askedNote struct {
	Gang     *placement.Gang // nil: it holds nothing, or may not be seen
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

// totals of the cluster, and of each kind of GPU where there are several.
func (v *View) totals(p *page) {
	p.add("total", "map-totals", "map-total", v.total("All", "", v.Map.Totals))
	kinds := v.kinds()
	if len(kinds) < 2 && v.Query.Kind == "" {
		return
	}
	for _, k := range kinds {
		p.add("total", "map-totals", "map-total-"+hash(k.Kind), v.total(k.Kind, k.Kind, k.Totals))
	}
}

// kinds of GPU with their totals, in their order, without the nodes of which no kind is known.
func (v *View) kinds() []placement.Group {
	var all []placement.Group
	for i := range v.Map.Groups {
		g := &v.Map.Groups[i]
		if n := len(all); n == 0 || all[n-1].Kind != g.Kind {
			all = append(all, placement.Group{Kind: g.Kind})
		}
		t := &all[len(all)-1].Totals
		t.Nodes += g.Totals.Nodes
		t.GPUs += g.Totals.GPUs
		t.Used += g.Totals.Used
		t.Other += g.Totals.Other
		t.Free += g.Totals.Free
		t.Unusable += g.Totals.Unusable
	}
	return slices.DeleteFunc(all, func(g placement.Group) bool { return g.Kind == "" })
}

// kindName of a group's GPUs.
func (v *View) kindName(g *placement.Group) string {
	switch {
	case g.Kind != "":
		return g.Kind
	case !v.Map.NodesKnown:
		return "Your jobs' nodes"
	case g.Totals.GPUs == 0:
		return "Without GPUs"
	}
	return "GPUs of a kind that is not known"
}

// total of nodes, with a bar.
type total struct {
	ID, Name, Href string
	Current        bool
	placement.Totals
	NodesKnown, HoldersKnown bool
	Bar                      []segment
}

// segment of a bar, in percent of its width.
type segment struct {
	Class    string
	At, Wide string
}

func (v *View) total(name, kind string, t placement.Totals) total {
	id := "map-total"
	if kind != "" {
		id += "-" + hash(kind)
	}
	return total{
		ID: id, Name: name, Href: v.Query.only(kind).URL(), Current: v.Query.Kind == kind, Totals: t,
		NodesKnown: v.Map.NodesKnown, HoldersKnown: v.Map.HoldersKnown, Bar: bar(t),
	}
}

func bar(t placement.Totals) []segment {
	var all []segment
	var before int64
	for _, s := range []struct {
		class string
		n     int64
	}{{"ours", t.Used - t.Other}, {"other", t.Other}, {"free", t.Free}, {"unusable", t.Unusable}} {
		if s.n > 0 {
			all = append(all, segment{s.class, percent(before, t.GPUs), percent(s.n, t.GPUs)})
		}
		before += s.n
	}
	return all
}

// gangs are the legend of the largest, and one line for all others.
func (v *View) gangs(p *page) {
	shown := min(len(v.Map.Gangs), maxGangs)
	if i, asked := v.asked(); asked && i >= shown {
		p.add("gang", "map-gangs", "map-gang-"+hash(string(v.Map.Gangs[i].UID)), v.gang(i))
	}
	for i := range shown {
		p.add("gang", "map-gangs", "map-gang-"+hash(string(v.Map.Gangs[i].UID)), v.gang(i))
	}
	rest := others{Gangs: len(v.Map.Gangs) - shown, Other: v.Map.Totals.Other}
	for i := shown; i < len(v.Map.Gangs); i++ {
		rest.GPUs += v.Map.Gangs[i].GPUs
	}
	rest.None, rest.Unknown = shown == 0, !v.Map.HoldersKnown
	if rest.Gangs > 0 || rest.Other > 0 || rest.None {
		p.add("others", "map-gangs", "map-gang-others", rest)
	}
}

// others than the largest gangs.
type others struct {
	Gangs int
	GPUs  int64
	// Other GPUs are held by whom the reader may not see.
	Other int64
	// None reports whether there is no gang at all; Unknown whether that is only not known.
	None, Unknown bool
}

// legend of one gang.
type legend struct {
	ID         string
	Class, D   string
	Gang       placement.Gang
	Job, Show  string
	Current    bool
	NodesKnown bool
}

func (v *View) gang(i int) legend {
	g := v.Map.Gangs[i]
	look := palette.Of(string(g.UID))
	return legend{
		ID: "map-gang-" + hash(string(g.UID)), Class: look.Class(), D: look.Cell(0, 0), Gang: g,
		Job: v.Links.Job(g.Namespace, g.Name), Show: v.Query.of(string(g.UID)).URL(),
		Current: v.Query.Gang == string(g.UID), NodesKnown: v.Map.NodesKnown,
	}
}

// waiting are the gangs that have waited longest.
func (v *View) waiting(p *page) {
	shown := min(len(v.Map.Waiting), maxWaiting)
	for _, w := range v.Map.Waiting[:shown] {
		id := "map-waits-" + hash(string(w.UID))
		p.add("waits", "map-waiting", id, struct {
			placement.Waiting
			ID, Job string
		}{w, id, v.Links.Job(w.Namespace, w.Name)})
	}
	more := struct {
		Shown, More     int
		GPUs            int64
		Unknown         bool
		Waiting, Queues string
	}{Shown: shown, More: len(v.Map.Waiting) - shown, Waiting: v.Links.Waiting, Queues: v.Links.Queues}
	for _, w := range v.Map.Waiting {
		more.GPUs += w.GPUs
		more.Unknown = more.Unknown || w.Phase == ""
	}
	p.add("waits-all", "map-waiting", "map-waits-all", more)
}

// detail of the node that is asked for.
func (v *View) detail(p *page) {
	if v.Query.Node == "" {
		return
	}
	d := detail{Name: v.Query.Node, Close: v.Query.at("").URL(), NodesKnown: v.Map.NodesKnown}
	for i := range v.Map.Groups {
		g := &v.Map.Groups[i]
		for n := range g.Nodes {
			if node := &g.Nodes[n]; node.Name == v.Query.Node {
				d.Known, d.Kind, d.Domain, d.DomainKey = true, g.Kind, g.Domain, g.DomainKey
				d.Amounts, d.Reasons = v.amounts(node), reasons(node.Reasons)
				d.Holders = v.holders(node)
			}
		}
	}
	p.add("detail", "map-detail", "map-node", d)
}

type detail struct {
	Name, Close             string
	Known, NodesKnown       bool
	Kind, Domain, DomainKey string
	Amounts                 string
	Reasons                 []string
	Holders                 []holder
}

// holder is a line of a table.
type holder struct {
	Class, D        string // of its look; empty for whom the reader may not see
	Namespace, Name string
	Job             string
	Ranks           string
	GPUs            int64
}

func (v *View) holders(n *placement.NodeUse) []holder {
	var all []holder
	for _, h := range n.Holders {
		line := holder{GPUs: h.GPUs, Ranks: ranks(h.Ranks)}
		if h.Gang >= 0 {
			g := &v.Map.Gangs[h.Gang]
			look := palette.Of(string(g.UID))
			line.Class, line.D = look.Class(), look.Cell(0, 0)
			line.Namespace, line.Name, line.Job = g.Namespace, g.Name, v.Links.Job(g.Namespace, g.Name)
		}
		all = append(all, line)
	}
	return all
}

// group is the heading of nodes.
type group struct {
	ID string
	placement.Group
	Name         string
	HoldersKnown bool
}

// groups of nodes: as tiles, or as rows of a table.
func (v *View) groups(p *page) {
	for i := range v.Map.Groups {
		g := &v.Map.Groups[i]
		if v.Query.Kind != "" && v.Query.Kind != g.Kind {
			continue
		}
		if v.Query.Table {
			v.rows(p, g)
			continue
		}
		id := "map-group-" + hash(g.Kind, g.DomainKey, g.Domain)
		heading := group{id, *g, v.kindName(g), v.Map.HoldersKnown}
		p.add("group", "map-nodes", id, heading)
		v.tiles(p, g.Nodes)
	}
}

func (v *View) tiles(p *page, nodes []placement.NodeUse) {
	gang, asked := v.asked()
	var key []byte
	for i := range nodes {
		if p.err != nil {
			return
		}
		n := &nodes[i]
		if v.Tiles == nil {
			p.add("tile", "map-nodes", tileID(n), v.tile(n, gang, asked))
			continue
		}
		key = v.tileKey(key[:0], n)
		if f, known := v.Tiles.get(key); known {
			p.all = append(p.all, f)
			continue
		}
		p.add("tile", "map-nodes", tileID(n), v.tile(n, gang, asked))
		if p.err == nil {
			v.Tiles.put(key, p.all[len(p.all)-1])
		}
	}
}

// row of the table.
type row struct {
	ID, Href string
	placement.NodeUse
	Kind, Domain             string
	Holders                  []holder
	Reasons                  []string
	NodesKnown, HoldersKnown bool
}

func (v *View) rows(p *page, g *placement.Group) {
	gang, asked := v.asked()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if asked && !n.Has(gang) {
			continue
		}
		p.add("row", "map-rows", tileID(n), row{
			tileID(n), v.Query.at(n.Name).URL(), *n, g.Kind, g.Domain, v.holders(n),
			reasons(n.Reasons), v.Map.NodesKnown, v.Map.HoldersKnown,
		})
	}
}

// hash of texts, of which any can be in an id.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// Body is the frame of the page, with its fragments in it.
func (v *View) Body(fragments []fragment.Fragment) (template.HTML, error) {
	var out strings.Builder
	if err := templates.ExecuteTemplate(&out, "map", body{v, fragments}); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil
}

// body is what the frame's template is given.
type body struct {
	*View
	fragments []fragment.Fragment
}

// Contents of a container.
func (b body) Contents(in string) template.HTML { return fragment.Contents(b.fragments, in) }

// AsMap and AsTable are the URLs of the page's two views.
func (b body) AsMap() string   { return b.Query.as(false).URL() }
func (b body) AsTable() string { return b.Query.as(true).URL() }

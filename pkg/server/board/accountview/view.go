package accountview

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

//go:embed templates
var files embed.FS

// CSS of the page. It needs the board's custom properties.
//
//go:embed accountview.css
var CSS string

var templates = template.Must(parameters.WithNamespace(template.New("")).Funcs(template.FuncMap{
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"date":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	"whole": func(n int64) string { return apart(strconv.FormatInt(n, 10)) },
	"hours": hoursOf,
	"join":  func(all []string) string { return strings.Join(all, ", ") },
}).ParseFS(files, "templates/*.html"))

// View is the page of a cluster's accounting.
type View struct {
	Cluster string
	// Accounting is what rest.Server.Accounting returns for the query's Input; read only.
	Accounting rest.Accounting
	Query      Query
	Links      Links
	// Namespaces that the reader may see, for the filter, sorted; nil if they are unknown. It is called once for
	// the frame of the page.
	Namespaces func() []string
}

// Links to other pages of the cluster.
type Links struct {
	// History is the path of the page of a past job.
	History func(uid string) string
	// CSV is the path of the same figures as CSV, to which the API's parameters are added.
	CSV string
}

// Fragments of the page, in the containers of Body.
func (v *View) Fragments() ([]fragment.Fragment, error) {
	p := &fragment.Page{Templates: templates}
	a := &v.Accounting
	p.Add("sum", "accounting-sum", "accounting-all", v.figures(&a.Total))
	p.Add("notes", "accounting-notes", "accounting-problems", struct {
		*rest.Accounting
		Empty bool
	}{a, len(a.Items) == 0})
	if len(a.By) == 0 {
		return p.All, p.Err
	}
	pager := parameters.NewPager(len(a.Items), perPage, v.Query.Page, func(page int) string {
		return v.Query.at(page).URL()
	})
	most := v.most()
	for i := range a.Items[pager.First-1 : pager.Last] {
		r := v.row(&a.Items[pager.First-1+i], most)
		p.Add("row", "accounting-rows", r.ID, r)
	}
	p.Add("pager", "accounting-pages", "accounting-pager", pager)
	return p.All, p.Err
}

// most GPU-seconds of any row, on all pages: the length of a full bar.
func (v *View) most() int64 {
	var most int64
	for i := range v.Accounting.Items {
		most = max(most, v.Accounting.Items[i].GPUSeconds)
	}
	return most
}

// figures of a row or of the sum.
type figures struct {
	*rest.Usage
	Hours, Lost amount
	// LostShare of the GPU-hours; empty if there are none.
	LostShare string
	// Price is the cost; nil if unknown.
	Price    *amount
	Currency string
}

func (v *View) figures(u *rest.Usage) figures {
	f := figures{
		Usage: u, Hours: amountOf(u.GPUHours), Lost: hoursOf(u.LostGPUSeconds), Currency: v.Accounting.Currency,
	}
	if u.GPUSeconds > 0 && u.LostGPUSeconds > 0 {
		f.LostShare = shareOf(u.LostGPUSeconds, u.GPUSeconds)
	}
	if u.Cost != nil {
		f.Price = new(amountOf(*u.Cost))
	}
	return f
}

// row of the table.
type row struct {
	ID    string
	Cells []cell
	figures
	// Kept and LostBar are the lengths of the bar's parts.
	Kept, LostBar string
}

// cell of a dimension.
type cell struct {
	Text, Of, Href string
	// None reports that the row has no value of this dimension, for example a job without a queue.
	None bool
}

func (v *View) row(u *rest.Usage, most int64) row {
	r := row{figures: v.figures(u)}
	lost := min(u.LostGPUSeconds, u.GPUSeconds) // a loss counts on its day, its use on an earlier one
	r.Kept, r.LostBar = percent(u.GPUSeconds-lost, most), percent(lost, most)
	for _, by := range v.columns() {
		r.Cells = append(r.Cells, v.cell(by, u))
	}
	r.ID = "use-" + hash(u.Day, u.Namespace, u.Queue, u.User, u.GPUKind, u.JobUID)
	return r
}

func (v *View) cell(by store.Dimension, u *rest.Usage) cell {
	c := cell{}
	switch by {
	case store.ByDay:
		c.Text = u.Day
	case store.ByNamespace:
		if c.Text = u.Namespace; c.Text != v.Query.Namespace {
			c.Href = v.Query.within(u.Namespace).URL()
		}
	case store.ByQueue:
		c.Text = u.Queue
	case store.ByUser:
		c.Text = u.User
	case store.ByGPUKind:
		c.Text = u.GPUKind
	case store.ByJob:
		c.Text, c.Href = u.JobName, v.Links.History(u.JobUID)
		if !slices.Contains(v.Accounting.By, store.ByNamespace) {
			c.Of = u.Namespace
		}
	}
	c.None = c.Text == ""
	return c
}

// columns of the dimensions, in order.
func (v *View) columns() []store.Dimension {
	return slices.DeleteFunc(slices.Clone(dimensions), func(d store.Dimension) bool {
		return !slices.Contains(v.Accounting.By, d)
	})
}

// hash of texts, usable in an id.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Body is the frame of the page, with its fragments in it.
func (v *View) Body(fragments []fragment.Fragment) (template.HTML, error) {
	namespace := parameters.NewNamespaceField(v.Query.Namespace, v.Namespaces)
	namespace.Key = "/"
	return fragment.Execute(templates, "accounting", body{v, namespace, fragments})
}

// body is the data of the frame's template.
type body struct {
	*View
	Namespace parameters.NamespaceField
	fragment.Frame
}

// Last day of the period.
func (b body) Last() string {
	to, err := time.Parse(time.DateOnly, b.Accounting.To)
	if err != nil {
		return ""
	}
	return to.AddDate(0, 0, -1).Format(time.DateOnly)
}

// Month of the first day.
func (b body) Month() string { return b.Accounting.From[:min(len(b.Accounting.From), len(monthly))] }

// link of a menu.
type link struct {
	Name, Href string
	Current    bool
}

// Months before, of and after the period, and the current one.
func (b body) Months() []link {
	of, err := time.Parse(monthly, b.Month())
	if err != nil {
		return nil
	}
	before, after := of.AddDate(0, -1, 0).Format(monthly), of.AddDate(0, 1, 0).Format(monthly)
	whole := b.Query.Month != ""
	return []link{
		{"← " + before, b.Query.in(before).URL(), false}, {b.Month(), b.Query.in(b.Month()).URL(), whole},
		{after + " →", b.Query.in(after).URL(), false},
		{"this month", b.Query.in("").URL(), !whole && b.Query.From+b.Query.Last == ""},
	}
}

// names of dimensions.
var names = map[store.Dimension]string{
	store.ByDay: "Day", store.ByNamespace: "Namespace", store.ByQueue: "Queue", store.ByUser: "User",
	store.ByGPUKind: "Kind of GPU", store.ByJob: "Job",
}

// Choices of dimensions.
func (b body) Choices() []parameters.Choice {
	all := parameters.Choices(dimensions, b.Query.By)
	for i, d := range dimensions {
		all[i].Name = names[d]
	}
	return all
}

// Columns are the names of the dimensions.
func (b body) Columns() []string {
	var all []string
	for _, d := range b.columns() {
		all = append(all, names[d])
	}
	return all
}

// By is the parameter by.
func (b body) By() string { return b.Query.by() }

// CSV is the path of the CSV with the same query.
func (b body) CSV() string {
	values := Query{Namespace: b.Query.Namespace}.values()
	values.Del("by")
	values.Set("from", b.Accounting.From)
	values.Set("to", b.Accounting.To)
	if len(b.Accounting.By) > 0 {
		values.Set("by", parameters.Join(b.Accounting.By))
	}
	return b.Links.CSV + "?" + values.Encode()
}

package board

import (
	"embed"
	"html/template"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/listview"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.html"))

func clusterURL(cluster string) string { return listview.ClusterURL(cluster) }

func jobURL(r *http.Request) string {
	return listview.JobURL(r.PathValue("cluster"), r.PathValue("namespace"), r.PathValue("name"))
}

// link of a menu.
type link struct {
	Name, Href string
	Current    bool
}

// layout is the frame of every page.
type layout struct {
	Title string
	board *Board
	// Build is the hash of the static files: a page of another version shows a notice.
	Build string
	// Reader is a digest of the user and the session: a page that gets another reader's updates shows a
	// notice.
	Reader   string
	User     User
	CSRF     string
	Clusters []link
	Menu     []link
	// Live is the URL of the page's updates, or empty. State is the digest of its content.
	Live, State string
	// Refresh is the number of seconds after which the browser reloads the page; 0 for never.
	Refresh int
	Body    template.HTML
}

// Static is the URL of a static file.
func (l layout) Static(file string) string { return l.board.static.url(file) }

// CSRFField is the name of the field with the token.
func (l layout) CSRFField() string { return CSRFField }

// layout of an answer. A page for an unknown user has no menu, since that names clusters.
func (b *Board) layout(r *http.Request, title string) layout {
	l := layout{
		Title: title, board: b, Build: b.static.hash, Reader: b.reader(r), User: b.User(r), CSRF: b.CSRF(r),
	}
	cluster := r.PathValue("cluster")
	clusters, err := b.Jobs.Clusters(r.Context())
	if err != nil || !isKnown(r) {
		return l
	}
	known := false
	for _, c := range clusters {
		known = known || c.Name == cluster
		l.Clusters = append(l.Clusters, link{c.Name, clusterURL(c.Name), c.Name == cluster})
	}
	if !known {
		return l
	}
	for _, item := range []link{
		{Name: "Map"}, {Name: "Jobs", Href: "/jobs"}, {Name: "Queues", Href: "/queues"},
		{Name: "History", Href: "/history"}, {Name: "Accounting", Href: "/accounting"},
		{Name: "Submit", Href: "/submit"},
	} {
		item.Href = clusterURL(cluster) + item.Href
		item.Current = r.URL.Path == item.Href
		l.Menu = append(l.Menu, item)
	}
	return l
}

// reader is a digest of the user and the session: the forms of a page are valid only in its session.
func (b *Board) reader(r *http.Request) string {
	return fragment.Hash(b.User(r).Name, b.CSRF(r))
}

// liveURL returns the URL of a page's stream, for the job with uid if not empty.
func liveURL(r *http.Request, uid types.UID) string {
	query := r.URL.Query()
	query.Set(parameterLive, "1")
	if uid != "" {
		query.Set(parameterUID, string(uid))
	}
	return (&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).String()
}

// execute a template of the board.
func execute(name string, data any) (template.HTML, error) {
	return fragment.Execute(templates, name, data)
}

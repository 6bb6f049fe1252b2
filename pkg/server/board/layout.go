package board

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/types"

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

// layout is what is around every page.
type layout struct {
	Title string
	board *Board
	// Build is the hash of the static files: a page of another version says so.
	Build string
	// Reader is a digest of who reads the page, in which session: a page whose updates are another reader's
	// says so.
	Reader   string
	User     User
	CSRF     string
	Clusters []link
	Menu     []link
	// Live is the URL of the page's updates; empty where it has none. State is the digest of what it shows.
	Live, State string
	// Refresh is after how many seconds the page is asked for anew; 0 for never.
	Refresh int
	Body    template.HTML
}

// Static is the URL of a static file.
func (l layout) Static(file string) string { return l.board.static.url(file) }

// CSRFField is the name of the field that has the token.
func (l layout) CSRFField() string { return CSRFField }

// layout of an answer. Somebody whom the server does not know gets no menu: it names clusters.
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

// reader of a page, and the session: the forms of a page count in the session in which it was loaded alone.
func (b *Board) reader(r *http.Request) string {
	sum := sha256.Sum256([]byte(b.User(r).Name + "\x00" + b.CSRF(r)))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// liveURL of a page: itself, as a stream, of the job of a UID where it shows one.
func liveURL(r *http.Request, uid types.UID) string {
	query := r.URL.Query()
	query.Set(parameterLive, "1")
	if uid != "" {
		query.Set(parameterUID, string(uid))
	}
	return (&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).String()
}

// execute a template of the board's.
func execute(name string, data any) (template.HTML, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
}

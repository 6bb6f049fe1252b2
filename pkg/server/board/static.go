package board

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/accountview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/clusterview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/jobview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/logview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/palette"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/queueview"
)

//go:embed static
var staticFiles embed.FS

// sheets of the pages, appended to board.css in this order: one file is one request.
var sheets = []string{
	palette.CSS, clusterview.CSS, queueview.CSS, accountview.CSS, jobview.CSS, logview.CSS,
}

// scripts of the pages, appended to board.js.
var scripts = []string{logview.Script}

const staticRoot = Root + "static/"

// static files under a hash of all of them: browsers can cache them forever.
type static struct {
	hash  string
	files map[string][]byte
}

func newStatic() (*static, error) {
	entries, err := fs.ReadDir(staticFiles, "static") // sorted
	if err != nil {
		return nil, fmt.Errorf("reading the static files: %w", err)
	}
	s, h := &static{files: map[string][]byte{}}, sha256.New()
	for _, e := range entries {
		content, err := fs.ReadFile(staticFiles, path.Join("static", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading the static files: %w", err)
		}
		switch e.Name() {
		case "board.css":
			content = append(content, "\n"+strings.Join(sheets, "\n")...)
		case "board.js":
			content = append(content, "\n"+strings.Join(scripts, "\n")...)
		}
		s.files[e.Name()] = content
		fmt.Fprintf(h, "%s %d\n", e.Name(), len(content))
		h.Write(content)
	}
	s.hash = base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
	return s, nil
}

func (s *static) pattern() string { return staticRoot + "{hash}/{file}" }

// url of a file.
func (s *static) url(file string) string { return staticRoot + s.hash + "/" + file }

var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// serve a file. A request with another hash comes from a page of another version during an upgrade: it gets
// the current file, which browsers do not cache.
func (s *static) serve(w http.ResponseWriter, r *http.Request) {
	content, has := s.files[r.PathValue("file")]
	h := w.Header()
	if !has {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", contentTypes[path.Ext(r.PathValue("file"))])
	h.Set("X-Content-Type-Options", "nosniff")
	if r.PathValue("hash") == s.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-store")
	}
	_, _ = w.Write(content) // the browser can be gone
}

// contentPolicy of the board's pages: only the board's own files are scripts and styles.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// setPolicy replaces the policy of package shield, which fits answers for programs. Other headers stay.
func setPolicy(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
}

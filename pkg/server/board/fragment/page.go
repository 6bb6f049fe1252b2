package fragment

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"strings"
)

// Page collects the fragments of a page, rendered with its templates.
type Page struct {
	Templates *template.Template
	All       []Fragment
	Err       error
}

// Add renders a fragment. After an error it does nothing.
func (p *Page) Add(name, in, id string, data any) {
	if p.Err != nil {
		return
	}
	f, err := Render(p.Templates, name, in, id, data)
	p.All, p.Err = append(p.All, f), err
}

// Frame has the fragments of a page, for the template of its frame.
type Frame []Fragment

// Contents of a container.
func (f Frame) Contents(in string) template.HTML { return Contents(f, in) }

// Execute renders a frame.
func Execute(t *template.Template, name string, data any) (template.HTML, error) {
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
}

// Hash of texts, usable in an id.
func Hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

package fragment

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

// Fragment is one element of a page that can change by itself.
type Fragment struct {
	// ID of the element, unique in the page: letters, digits, "-", "_" and ".".
	ID string
	// In is the id of the container element that holds it; its order there is that of the slice.
	In string
	// HTML is exactly one element, whose first attribute is that id: <tr id="job-1">...</tr>. It is an element
	// of HTML: of an SVG it is the whole, since a browser cannot parse parts of one by themselves.
	HTML template.HTML

	// version is known where Render made the fragment: rows that are kept are hashed once.
	version string
}

// Render a fragment by a template, whose space around the element is left out. It is an error where the
// template fails, or gives something else than a Fragment's HTML.
func Render(t *template.Template, name, in, id string, data any) (Fragment, error) {
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return Fragment{}, fmt.Errorf("rendering %s of %s: %w", id, in, err)
	}
	f := Fragment{ID: id, In: in, HTML: template.HTML(strings.TrimSpace(b.String()))}
	if err := f.check(); err != nil {
		return Fragment{}, err
	}
	f.version = f.Version()
	return f, nil
}

// Version is a hash of the HTML: equal versions have equal HTML. Whoever writes what is shown cannot choose
// it so that a change is not seen.
func (f Fragment) Version() string {
	if f.version != "" {
		return f.version
	}
	sum := sha256.Sum256([]byte(f.HTML))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Element is the HTML with the version in it, as the attribute data-v: this is what browsers are sent, in
// pages as well as in patches. They leave an element alone that has the version already.
func (f Fragment) Element() template.HTML {
	at := strings.IndexByte(string(f.HTML), ' ') // behind the name of the element: check
	if at < 0 {
		return f.HTML
	}
	return f.HTML[:at] + template.HTML(` data-v="`+f.Version()+`"`) + f.HTML[at:]
}

var (
	ids   = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	start = regexp.MustCompile(`^<[a-z][a-z0-9-]* id="([^"]*)"[\s/>]`)
)

// check what can be checked without parsing; fragmenttest checks the rest.
func (f Fragment) check() error {
	switch first := start.FindStringSubmatch(string(f.HTML)); {
	case !ids.MatchString(f.ID):
		return fmt.Errorf("fragment %q: an id has letters, digits, '-', '_' and '.' alone", f.ID)
	case !ids.MatchString(f.In):
		return fmt.Errorf("fragment %s: its container %q is no id", f.ID, f.In)
	case first == nil || first[1] != f.ID:
		return fmt.Errorf("fragment %s: its HTML must begin with an element whose first attribute is "+
			`id="%s", not with %.60q`, f.ID, f.ID, f.HTML)
	}
	return nil
}

// Check reports an error where fragments cannot be those of one page: an id that is there twice, that is also
// a container's, or that the HTML does not have.
func Check(all []Fragment) error {
	seen := make(map[string]bool, len(all))
	for _, f := range all {
		if err := f.check(); err != nil {
			return err
		}
		if seen[f.ID] {
			return fmt.Errorf("fragment %s is there twice", f.ID)
		}
		seen[f.ID] = true
	}
	for _, f := range all {
		if seen[f.In] {
			return fmt.Errorf("fragment %s is in the fragment %s: containers are the frame's", f.ID, f.In)
		}
	}
	return nil
}

// Contents of a container, as the frame's template puts them there.
func Contents(all []Fragment, in string) template.HTML {
	var b strings.Builder
	for _, f := range all {
		if f.In == in {
			b.WriteString(string(f.Element()))
			b.WriteByte('\n')
		}
	}
	return template.HTML(b.String())
}

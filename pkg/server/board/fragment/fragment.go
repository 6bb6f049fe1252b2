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
	// In is the id of the container element that holds it; its order there is that of the slice. It is one of
	// the frame, or one that a fragment has: empty in its HTML, as <ul id="list" data-fragments></ul>.
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
	holds = regexp.MustCompile(` id="([^"]*)" data-fragments>(</)?`)
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
	if !strings.Contains(string(f.HTML), containerMark) {
		return nil
	}
	for _, held := range holds.FindAllStringSubmatch(string(f.HTML), -1) {
		if held[2] == "" {
			return fmt.Errorf("fragment %s: its container %s is not empty", f.ID, held[1])
		}
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
			return fmt.Errorf("fragment %s is in the fragment %s, which is no container", f.ID, f.In)
		}
	}
	return nil
}

// containerMark is in the HTML of fragments that have containers. What users write cannot have it.
const containerMark = " data-fragments>"

// Contents of a container, as the frame's template puts them there, with those of the containers in them.
func Contents(all []Fragment, in string) template.HTML {
	of := map[string][]Fragment{}
	for _, f := range all {
		of[f.In] = append(of[f.In], f)
	}
	var b strings.Builder
	write(&b, of, in)
	return template.HTML(b.String())
}

func write(b *strings.Builder, of map[string][]Fragment, in string) {
	for _, f := range of[in] {
		rest := string(f.Element())
		for {
			before, after, has := strings.Cut(rest, containerMark)
			b.WriteString(before)
			if !has {
				break
			}
			b.WriteString(containerMark)
			_, id, _ := cutLast(before, ` id="`)
			id = strings.TrimSuffix(id, `"`)
			if len(of[id]) > 0 {
				b.WriteByte('\n')
			}
			write(b, of, id)
			rest = after
		}
		b.WriteByte('\n')
	}
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

package fragment

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

// Fragment is one element of a page that can change independently.
type Fragment struct {
	// ID of the element, unique in the page: letters, digits, "-", "_" and ".".
	ID string
	// In is the id of its container; the order in a container is that of the slice. A container belongs to
	// the frame, or to a fragment, and is empty in its HTML: <ul id="list" data-fragments></ul>.
	In string
	// HTML is exactly one element, whose first attribute is that id: <tr id="job-1">...</tr>. An SVG is one
	// fragment, since a browser cannot parse its parts alone.
	HTML template.HTML

	// version is set by Render, so that cached rows are hashed once.
	version string
}

// Render renders a fragment with a template, without the space around it. Output that is not the HTML of a
// Fragment is an error.
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

// Version is a hash of the HTML: equal versions have equal HTML. It is cryptographic, so that users cannot
// choose text that hides a change.
func (f Fragment) Version() string {
	if f.version != "" {
		return f.version
	}
	sum := sha256.Sum256([]byte(f.HTML))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Element is the HTML with the version as the attribute data-v, as sent in pages and patches. Browsers leave
// an element with the same version alone.
func (f Fragment) Element() template.HTML {
	at := strings.IndexByte(string(f.HTML), ' ') // after the name of the element: check
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

// check validates without parsing; fragmenttest checks the rest.
func (f Fragment) check() error {
	switch first := start.FindStringSubmatch(string(f.HTML)); {
	case !ids.MatchString(f.ID):
		return fmt.Errorf("fragment %q: an id has only letters, digits, '-', '_' and '.'", f.ID)
	case !ids.MatchString(f.In):
		return fmt.Errorf("fragment %s: its container %q is not an id", f.ID, f.In)
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

// Check returns an error if fragments cannot be on one page: a duplicate id, the id of a container, or an id
// that the HTML does not have.
func Check(all []Fragment) error {
	seen := make(map[string]bool, len(all))
	for _, f := range all {
		if err := f.check(); err != nil {
			return err
		}
		if seen[f.ID] {
			return fmt.Errorf("fragment %s is a duplicate", f.ID)
		}
		seen[f.ID] = true
	}
	for _, f := range all {
		if seen[f.In] {
			return fmt.Errorf("fragment %s is in the fragment %s, which is not a container", f.ID, f.In)
		}
	}
	return nil
}

// containerMark is in the HTML of fragments with containers. Escaped text cannot have it.
const containerMark = " data-fragments>"

// Contents of a container for the frame's template, including nested containers.
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

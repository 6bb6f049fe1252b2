package fragment

import (
	"html/template"
	"strings"
	"testing"
)

var rows = template.Must(template.New("").Parse(`
{{define "row"}}
  <tr id="{{.ID}}"><td>{{.Text}}</td></tr>
{{end}}
{{define "nameless"}}<tr><td id="{{.ID}}"></td></tr>{{end}}
{{define "broken"}}<tr id="{{.ID}}">{{.None}}</tr>{{end}}`))

func TestRender(t *testing.T) {
	data := struct{ ID, Text string }{"job-1", "<script>alert(1)</script>"}
	f, err := Render(rows, "row", "jobs", "job-1", data)
	if err != nil {
		t.Fatal(err)
	}
	const want = `<tr id="job-1"><td>&lt;script&gt;alert(1)&lt;/script&gt;</td></tr>`
	if string(f.HTML) != want {
		t.Errorf("got %s, want %s", f.HTML, want)
	}
	if f.Version() != (Fragment{HTML: f.HTML}).Version() {
		t.Error("the cached version is not the HTML's")
	}
	if got := string(f.Element()); got != strings.Replace(want, "<tr", `<tr data-v="`+f.Version()+`"`, 1) {
		t.Errorf("the element is %s", got)
	}
	for name, id := range map[string]string{
		"nameless": "job-1", "broken": "job-1", "row": "job-2", "none": "job-1",
	} {
		if _, err := Render(rows, name, "jobs", id, data); err == nil {
			t.Errorf("template %s with id %s is accepted", name, id)
		}
	}
}

func TestCheck(t *testing.T) {
	a := element("list", "a", "")
	for name, tt := range map[string]struct {
		reason string
		page   []Fragment
		want   string
	}{
		"right":  {"two elements in a container", []Fragment{a, element("list", "b", "")}, ""},
		"twice":  {"the browser would change one of both", []Fragment{a, a}, "is a duplicate"},
		"nested": {"replacing a would remove b", []Fragment{a, element("a", "b", "")}, "in the fragment"},
		"container": {"a container must be empty",
			[]Fragment{{ID: "a", In: "list", HTML: `<p id="a"><b id="in-a" data-fragments>x</b></p>`}}, "not empty"},
		"id": {"ids are used in selectors",
			[]Fragment{{ID: `a"b`, In: "list", HTML: `<p id="a"b"></p>`}}, "an id has only letters"},
		"no container": {"it has none", []Fragment{{ID: "a", HTML: `<p id="a"></p>`}}, "is not an id"},
		"other": {"the browser finds elements by id",
			[]Fragment{{ID: "a", In: "list", HTML: `<p id="ab"></p>`}}, "must begin with"},
		"text": {"it is not an element", []Fragment{{ID: "a", In: "list", HTML: `a`}}, "must begin with"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(tt.page)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %q", tt.reason, err, tt.want)
			}
		})
	}
}

func TestContents(t *testing.T) {
	a, b, c := element("one", "a", ""), element("two", "b", ""), element("one", "c", "")
	got := Contents([]Fragment{a, b, c}, "one")
	if want := a.Element() + "\n" + c.Element() + "\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	outer := Fragment{ID: "outer", In: "one", HTML: `<div id="outer">` +
		`<ul class="x" id="two" data-fragments></ul><ol id="three" data-fragments></ol></div>`}
	got = Contents([]Fragment{outer, b}, "one")
	want := strings.Replace(string(outer.Element()), `></ul>`, ">\n"+string(b.Element())+"\n</ul>", 1) + "\n"
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package report

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

//go:embed templates
var files embed.FS

// templates with all prose of the report.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"number": Number, "amount": amount, "ratio": ratio, "times": times, "noiseBand": noiseBand, "gib": gib,
	"cell": markdownCell, "table": markdownTable, "list": list, "versions": versions, "minPairs": minPairs,
	"short": short, "wrap": wrapForTerminal, "plain": plain,
}).ParseFS(files, "templates/*.tmpl"))

// page is the whole report.
type page struct {
	result.Results
	// From and To are when the first and the last run began; zero when unknown.
	From, To time.Time
	Sections []section
}

func newPage(r result.Results) (page, error) {
	p := page{Results: r}
	for _, run := range r.Runs {
		if run.Began.IsZero() {
			continue
		}
		if p.From.IsZero() || run.Began.Before(p.From) {
			p.From = run.Began.UTC()
		}
		if run.Began.After(p.To) {
			p.To = run.Began.UTC()
		}
	}
	palette := newPalette(r.Stacks)
	for _, one := range playedOf(r) {
		s := newSection(one)
		all, err := figures(one, palette)
		if err != nil {
			return page{}, err
		}
		for _, f := range all {
			s.Plots = append(s.Plots, plotRef{f.File, f.Caption})
		}
		p.Sections = append(p.Sections, s)
	}
	return p, nil
}

// Markdown writes report.md.
func Markdown(w io.Writer, r result.Results) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	return render(w, "report.md.tmpl", p)
}

// terminalColumns that Summary fits.
const terminalColumns = 80

// Summary writes what matters most as plain text of at most 80 columns, for a terminal.
func Summary(w io.Writer, r result.Results) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	if err := render(t, "summary.txt.tmpl", p); err != nil {
		return err
	}
	return t.Flush()
}

// headlined is the name of the workload that Headline is about.
const headlined = "burst"

// Headline is a small Markdown table for the README: every stack in the workload "burst" against its floor;
// "" when that has no runs.
func Headline(r result.Results) (string, error) {
	p, err := newPage(r)
	if err != nil {
		return "", err
	}
	for _, s := range p.Sections {
		if s.Name != headlined || len(s.Floor) == 0 {
			continue
		}
		data := headline{section: s}
		for _, c := range s.Floor {
			row := headlineRow{comparison: c, Writes: stats.Unknown()}
			for _, b := range s.WritesPerJob {
				if b.Stack == c.Stack {
					row.Writes = b.Total
				}
			}
			data.Rows = append(data.Rows, row)
		}
		var b strings.Builder
		err := render(&b, "headline.md.tmpl", data)
		return b.String(), err
	}
	return "", nil
}

// headline of a section.
type headline struct {
	section
	Rows []headlineRow
}

type headlineRow struct {
	comparison
	// Writes to the API per job, of all clients.
	Writes stats.Bounds
}

func render(w io.Writer, name string, data any) error {
	if err := templates.ExecuteTemplate(w, name, data); err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	return nil
}

func minPairs() int { return stats.MinPairs }

func list(items []string) string { return strings.Join(items, ", ") }

// versions of a stack's programs, by name.
func versions(of map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, name+" "+of[name])
	}
	return cmp.Or(list(all), unknown)
}

// short cuts text to n columns.
func short(n int, text string) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "~"
	}
	return text
}

// plain takes out what a terminal or a tabwriter would take for more than text.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

func wrapForTerminal(text string) string {
	return chart.Wrap(plain(text), func(line string) bool { return len([]rune(line)) <= terminalColumns })
}

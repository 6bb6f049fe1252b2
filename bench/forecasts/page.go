package forecasts

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"mlplatform.example.com/trainingjob-operator/bench/backfill"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

//go:embed templates
var files embed.FS

// templates with all prose of the report.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"intervals": intervalsTable, "rivals": rivalsTable,
}).ParseFS(files, "templates/*.tmpl"))

// Markdown of the report.
func (r *Results) Markdown() ([]byte, error) {
	var text bytes.Buffer
	data := struct {
		*Results
		Base   Setting
		Limits forecast.Limits
	}{r, Base(), Limits()}
	if err := templates.ExecuteTemplate(&text, "report.md.tmpl", data); err != nil {
		return nil, fmt.Errorf("rendering the report: %w", err)
	}
	return text.Bytes(), nil
}

// Save report.md in a folder.
func (r *Results) Save(dir string) error {
	text, err := r.Markdown()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("making the folder for the report: %w", err)
	}
	return result.WriteWhole(filepath.Join(dir, "report.md"), text)
}

func (s *Share) percent() string {
	if s == nil || s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(s.N)/float64(s.Of))
}

// intervalsTable has how often the intervals hold.
func intervalsTable(s Section) string {
	head := []string{"", "waited", "interval", "held", "at place 1", "2-5", "6-20", "21+", "shown",
		"held if shown", "latest by earliest"}
	var rows [][]string
	for i := range s.Played {
		p := &s.Played[i]
		rows = append(rows, title(p, len(head)))
		for j := range p.Ways {
			m := &p.Ways[j]
			row := []string{m.Way, fmt.Sprint(m.Waited), m.Has.percent(), m.Held.percent()}
			for _, place := range []forecast.Positions{
				forecast.PositionFirst, forecast.PositionNear, forecast.PositionFar, forecast.PositionLast,
			} {
				row = append(row, m.HeldBy[place].percent())
			}
			rows = append(rows, append(row, m.Shown.percent(), m.ShownHeld.percent(), fmt.Sprintf("%.1f", m.Width)))
		}
	}
	return backfill.Table(head, rows)
}

func title(p *Played, cells int) []string {
	row := make([]string, cells)
	row[0] = fmt.Sprintf("**%s, %d nodes**", p.Label, p.Nodes)
	return row
}

// rivalsTable compares single times.
func rivalsTable(s Section) string {
	head := []string{"", "median error", "loss (h)", "by gap: error", "loss (h)", "by first end: known",
		"error", "loss (h)"}
	var rows [][]string
	for i := range s.Played {
		m := &s.Played[i].Ways[len(s.Played[i].Ways)-1]
		number := func(v float64) string { return fmt.Sprintf("%.2f", v) }
		rows = append(rows, []string{
			s.Played[i].Label, number(m.Error), number(m.Pinball), number(m.ByGap.Error), number(m.ByGap.Pinball),
			m.ByFirstEnd.Known.percent(), number(m.ByFirstEnd.Error), number(m.ByFirstEnd.Pinball),
		})
	}
	return backfill.Table(head, rows)
}

package backfill

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

//go:embed templates
var files embed.FS

// templates with all prose of the report.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"loads": loadsTable, "variations": variationsTable, "targets": targetsTable,
}).ParseFS(files, "templates/*.tmpl"))

// Markdown of the report.
func (r *Results) Markdown() ([]byte, error) {
	var text bytes.Buffer
	data := struct {
		*Results
		Base  Setting
		Large int
	}{r, Base(), Large}
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

// Table with a head and rows, in Markdown.
func Table(head []string, rows [][]string) string {
	var text strings.Builder
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	line(append([]string{"---"}, repeat("--:", len(head)-1)...))
	for _, row := range rows {
		line(row)
	}
	return strings.TrimRight(text.String(), "\n")
}

func repeat(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func hours(d time.Duration) string { return fmt.Sprintf("%.1f", d.Hours()) }

// loadsTable compares all ways at all loads.
func loadsTable(s Section) string {
	head := []string{"", "large gangs: mean", "95%", "others: mean", "others: delay", "useful GPU time",
		"reservations", "lapsed", "recalls", "longest hold"}
	var rows [][]string
	for i := range s.Loads {
		p := &s.Loads[i]
		today := p.way(Today)
		rows = append(rows, append([]string{fmt.Sprintf("**%s, %d nodes**", p.Label, p.Nodes)},
			repeat("", len(head)-1)...))
		for _, m := range p.Ways {
			rows = append(rows, []string{
				m.Way, hours(m.LargeMean),
				fmt.Sprintf("%s (%.2f)", hours(m.LargeP95), over(m.LargeP95, today.LargeP95)),
				fmt.Sprintf("%s (%.2f)", hours(m.Others), over(m.Others, today.Others)), hours(m.Delay),
				fmt.Sprintf("%.3f", over(m.Useful, today.Useful)), fmt.Sprintf("%.0f", m.Reservations),
				fmt.Sprintf("%.0f", m.Lapsed), fmt.Sprintf("%.0f", m.Recalls), hours(m.LongestHold),
			})
		}
	}
	return Table(head, rows)
}

// variationsTable has ratios to today in the same setting.
func variationsTable(s Section) string {
	head := []string{"", "today: 95% of large", "today: others", "reservation: 95% of large", "others",
		"useful", "and lent: 95% of large", "others", "useful", "recalls"}
	var rows [][]string
	for i := range s.Variations {
		p := &s.Variations[i]
		today, reserve, lend := p.way(Today), p.way(Reserve), p.way(Lend)
		row := []string{p.Label, hours(today.LargeP95), hours(today.Others)}
		for _, m := range []Measures{reserve, lend} {
			row = append(row, fmt.Sprintf("%.2f", over(m.LargeP95, today.LargeP95)),
				fmt.Sprintf("%.2f", over(m.Others, today.Others)), fmt.Sprintf("%.3f", over(m.Useful, today.Useful)))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.0f", lend.Recalls)))
	}
	return Table(head, rows)
}

func targetsTable(targets []Target) string {
	var rows [][]string
	for _, t := range targets {
		met := "met"
		if !t.Met() {
			met = "missed"
		}
		rows = append(rows, []string{t.Where + ": " + t.What, t.bound(), fmt.Sprintf("%.2f", t.Got), met})
	}
	return Table([]string{"by today", "target", "result", ""}, rows)
}

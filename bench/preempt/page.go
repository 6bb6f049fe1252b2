package preempt

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

//go:embed templates
var files embed.FS

// templates with all prose of the report.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"main":    func(p Point) string { return Main(p.Comparison) },
	"times":   func(p Point) string { return Times(p.Comparison) },
	"waste":   func(p Point) string { return Waste(p.Comparison) },
	"noise":   func(p Point) string { return noise(p.Comparison) },
	"targets": targetsTable, "agreement": agreementTable,
}).ParseFS(files, "templates/*.tmpl"))

// page is the whole report, for the templates.
type page struct {
	Results
	Base       sim.Shape
	SmallSeeds int
	Agreement  []sim.Agreement
	Figures    []chart.Figure
}

// Markdown of the report.
func (r Results) Markdown() ([]byte, error) {
	agreement, err := sim.Agreements()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	p := page{Results: r, Base: Base(), SmallSeeds: SmallSeeds, Agreement: agreement, Figures: r.figures()}
	if err := templates.ExecuteTemplate(&text, "report.md.tmpl", p); err != nil {
		return nil, fmt.Errorf("rendering the report: %w", err)
	}
	return text.Bytes(), nil
}

// Save report.md and plots/ in a folder. Files of an earlier report are replaced.
func (r Results) Save(dir string) error {
	text, err := r.Markdown()
	if err != nil {
		return err
	}
	plots := filepath.Join(dir, "plots")
	if err := os.MkdirAll(plots, 0o750); err != nil {
		return fmt.Errorf("making the folder for the report: %w", err)
	}
	for _, f := range r.figures() {
		if err := f.Save(plots); err != nil {
			return err
		}
	}
	return result.WriteWhole(filepath.Join(dir, "report.md"), text)
}

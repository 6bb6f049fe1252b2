package browser

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"

	"mlplatform.example.com/trainingjob-operator/lab/npm"
)

//go:embed package.json package-lock.json .npmrc
var files embed.FS

// Violation of a rule of axe-core.
type Violation struct {
	// Rule is its id, such as color-contrast.
	Rule string `json:"id"`
	// Impact is minor, moderate, serious or critical.
	Impact string `json:"impact"`
	Help   string `json:"help"`
	// Nodes that violate it.
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// Serious reports whether it keeps some users from using the page.
func (v Violation) Serious() bool { return v.Impact == "serious" || v.Impact == "critical" }

func (v Violation) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s (%s): %s", v.Rule, v.Impact, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&s, "\n\t%s\n\t\t%s", n.HTML, strings.ReplaceAll(n.Summary, "\n", "\n\t\t"))
	}
	return s.String()
}

// Violations that axe-core finds on the page.
func (p *Page) Violations(ctx context.Context) ([]Violation, error) {
	folder, err := npm.Install(ctx, "browser", files)
	if err != nil {
		return nil, err
	}
	axe, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return nil, fmt.Errorf("reading axe-core: %w", err)
	}
	// The debugger is not bound by the page's policy.
	if _, err := get(p, chromedp.Evaluate[chromedp.Void](string(axe))); err != nil {
		return nil, fmt.Errorf("loading axe-core into the page: %w", err)
	}
	return Value[[]Violation](p, "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
}

package browser

import (
	"context"
	"fmt"
)

// Hindrances are barriers to using the page: serious violations of axe-core's rules, and a page that is wider
// than the screen.
func (p *Page) Hindrances(ctx context.Context) ([]string, error) {
	found, err := p.Violations(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, violation := range found {
		if violation.Serious() {
			all = append(all, violation.String())
		}
	}
	over, err := Value[int](p, "document.documentElement.scrollWidth - innerWidth")
	if err != nil {
		return nil, err
	}
	if over > 0 {
		all = append(all, fmt.Sprintf("the page is %d pixels wider than the screen", over))
	}
	return all, nil
}

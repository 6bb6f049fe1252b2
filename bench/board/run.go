package board

import (
	"context"
	"fmt"
	"io"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
)

// Pages to measure.
func Pages() []Page {
	return []Page{
		{Name: "100 of 1,000 jobs", path: "/jobs", Every: time.Second},
		{Name: "500 of 1,000 jobs by progress", path: "/jobs?limit=500&sort=-progress", Every: time.Second},
		{Name: "map of 10,000 ranks", Every: time.Second},
		{Name: "map as a table", path: "?view=table", Every: time.Second},
		{Name: "a job of 1,000 ranks", large: true, Every: time.Second},
		{Name: "5 queues of 1,000 jobs", path: "/queues", Every: 5 * time.Second},
	}
}

// Loads of a cluster of FullSize.
func Loads() []Load {
	return []Load{
		{Name: "1% of the jobs", Jobs: 10}, {Name: "10% of the jobs", Jobs: 100},
		{Name: "50% of the jobs", Jobs: 500}, {Name: "a gang of 1,000 restarts", Storm: true},
	}
}

// Options of a benchmark.
type Options struct {
	Size  Size
	Pages []Page
	Loads []Load
	// Updates of each visit; a page with longer intervals has as many as fit in the same time, at least 4.
	Updates int
	// Progress receives a line after each visit.
	Progress io.Writer
}

// Run measures all pages under all loads, each after the same page without changes.
func Run(ctx context.Context, o Options) ([]Result, error) {
	b, err := browser.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Stop()
	var all []Result
	for _, page := range o.Pages {
		updates := max(4, o.Updates*int(time.Second)/int(page.Every))
		visits := []Visit{{page, Load{}, Still, updates}}
		for _, load := range o.Loads {
			visits = append(visits, Visit{page, load, Live, updates}, Visit{page, load, Reload, updates})
		}
		for _, v := range visits {
			r, err := v.run(ctx, b, o.Size)
			if err != nil {
				return all, fmt.Errorf("%s, %s, %s: %w", v.Page.Name, v.Load.Name, v.How, err)
			}
			all = append(all, r)
			fmt.Fprintf(o.Progress, "%s, %s, %s\n", page.Name, v.Load.Name, v.How)
		}
	}
	return all, nil
}

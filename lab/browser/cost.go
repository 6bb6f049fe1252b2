package browser

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// Cost of a page since it was opened, in time of its main thread.
type Cost struct {
	// Script, Style and Layout are parts of Task, the total.
	Script, Style, Layout, Task time.Duration
}

// Less returns the difference to an earlier cost.
func (c Cost) Less(before Cost) Cost {
	return Cost{
		c.Script - before.Script, c.Style - before.Style, c.Layout - before.Layout, c.Task - before.Task,
	}
}

// Memory of a page after a garbage collection.
type Memory struct {
	// Nodes of the DOM, also detached ones, and event listeners.
	Nodes, Listeners int64
	// Heap of JavaScript, in bytes.
	Heap int64
}

// Prepare runs a script in every page that is opened later, before the page's own.
func (p *Page) Prepare(script string) error {
	return p.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

// Cost so far.
func (p *Page) Cost() (Cost, error) {
	all, err := p.metrics()
	seconds := func(name string) time.Duration { return time.Duration(all[name] * float64(time.Second)) }
	return Cost{
		seconds("ScriptDuration"), seconds("RecalcStyleDuration"), seconds("LayoutDuration"),
		seconds("TaskDuration"),
	}, err
}

// Memory returns the memory of the page after a garbage collection.
func (p *Page) Memory() (Memory, error) {
	var m Memory
	counted, err := get(p, func(ctx context.Context, _ *chromedp.Target) (memory.GetDOMCountersResult, error) {
		// One collection can make more objects unreachable.
		for range 3 {
			if _, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return memory.GetDOMCountersResult{}, err
			}
		}
		return chromedp.Call(ctx, memory.GetDOMCounters, cdp.Empty{})
	})
	if err != nil {
		return m, fmt.Errorf("collecting and counting the nodes of a page: %w", err)
	}
	all, err := p.metrics()
	return Memory{counted.Nodes, counted.JsEventListeners, int64(all["JSHeapUsedSize"])}, err
}

// metrics by name.
func (p *Page) metrics() (map[string]float64, error) {
	result, err := get(p, func(ctx context.Context, _ *chromedp.Target) (performance.GetMetricsResult, error) {
		// Time of the thread, not of the clock: the machine can be busy.
		of := performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}
		if _, err := chromedp.Call(ctx, performance.Enable, of); err != nil {
			return performance.GetMetricsResult{}, err
		}
		return chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of a page: %w", err)
	}
	all := map[string]float64{}
	for _, metric := range result.Metrics {
		all[metric.Name] = metric.Value
	}
	return all, nil
}

// Hide hides the page's window, or shows it again.
func (p *Page) Hide(hidden bool) error {
	state := browser.WindowStateNormal
	if hidden {
		state = browser.WindowStateMinimized
	}
	return p.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		window, err := chromedp.Call(ctx, browser.GetWindowForTarget, browser.GetWindowForTargetParams{})
		if err != nil {
			return err
		}
		_, err = chromedp.Call(ctx, browser.SetWindowBounds, browser.SetWindowBoundsParams{
			WindowID: window.WindowID, Bounds: &browser.Bounds{WindowState: state},
		})
		return err
	}))
}

package browser

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// patience is the timeout of one action or wait, on a busy machine.
const patience = 2 * time.Minute

// interval between polls.
const interval = 50 * time.Millisecond

// Browser is a running Chromium.
type Browser struct {
	ctx  context.Context
	stop []context.CancelFunc
}

// Start starts Chromium. It ends with the context, or by Stop.
func Start(ctx context.Context) (*Browser, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("finding chromium (it is Debian's package chromium): %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // containers and root lack what it needs; the pages are ours
		chromedp.WSURLReadTimeout(patience),
		chromedp.IgnoreCertErrors, // the servers have self-signed certificates
		// No traffic but that of pages: no updates, no block lists.
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("no-pings", true),
	)
	b := &Browser{}
	allocator, end := chromedp.NewExecAllocator(ctx, options...)
	b.stop = append(b.stop, end)
	b.ctx, end = chromedp.NewContext(allocator)
	b.stop = append(b.stop, end)
	if err := chromedp.Do(b.ctx); err != nil {
		b.Stop()
		return nil, fmt.Errorf("starting chromium: %w", err)
	}
	return b, nil
}

// Stop the browser and wait until it has ended.
func (b *Browser) Stop() {
	for i := len(b.stop) - 1; i >= 0; i-- {
		b.stop[i]()
	}
}

// Screen of a visitor, in CSS pixels.
type Screen struct {
	Width, Height int64
	// Dark reports whether the visitor prefers dark pages.
	Dark bool
}

// Visit opens an empty page for a new visitor without cookies or cache. Close it.
func (b *Browser) Visit(s Screen) (*Page, error) {
	return open(b.ctx, s, chromedp.WithNewBrowserContext())
}

// Tab opens another empty page of the same visitor, with the same cookies. Close it before the first.
func (p *Page) Tab() (*Page, error) { return open(p.ctx, p.screen) }

func open(parent context.Context, s Screen, options ...chromedp.ContextOption) (*Page, error) {
	p := &Page{screen: s, hosts: map[string]bool{}}
	ctx, end := chromedp.NewContext(parent, append(options, chromedp.WithListener(p.notice))...)
	p.ctx, p.Close = ctx, end
	// A timeout of the context would apply to all later actions of the page.
	late := time.AfterFunc(patience, end)
	defer late.Stop()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(s.Width, s.Height), prefers(s.Dark)); err != nil {
		end()
		return nil, fmt.Errorf("opening a page: %w", err)
	}
	return p, nil
}

// prefers sets dark or light pages.
func prefers(dark bool) chromedp.Action[chromedp.Void] {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

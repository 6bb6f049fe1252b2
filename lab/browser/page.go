package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Page of a visitor.
type Page struct {
	// Close closes the page and deletes the visitor's data.
	Close context.CancelFunc

	ctx    context.Context
	screen Screen

	mu     sync.Mutex
	faults []string
	hosts  map[string]bool
}

// Do runs actions of chromedp, one after the other.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// get returns the result of an action.
func get[T any](p *Page, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// Open opens a URL and waits until it is loaded. A status other than 200 is an error.
func (p *Page) Open(url string) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, chromedp.Navigate(url))
	if err != nil {
		return fmt.Errorf("opening %s: %w", url, err)
	}
	if response != nil && response.Status != 200 {
		return fmt.Errorf("opening %s: status %d", url, response.Status)
	}
	return nil
}

// URL of the page.
func (p *Page) URL() (string, error) { return get(p, chromedp.Location()) }

// Text returns the visible text of the first element that matches, once there is one.
func (p *Page) Text(selector string) (string, error) {
	text, err := get(p, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", selector, err)
	}
	return text, nil
}

// Value returns the value of a JavaScript expression, decoded from JSON. It waits for a promise.
func Value[T any](p *Page, expression string) (T, error) {
	value, err := get(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return value, fmt.Errorf("evaluating %.60s: %w", expression, err)
	}
	return value, nil
}

// Until waits until a JavaScript expression is true, also across page loads.
func (p *Page) Until(expression string) error {
	last := errors.New("it is false")
	err := wait.PollUntilContextTimeout(p.ctx, interval, patience, true, func(context.Context) (bool, error) {
		is, err := Value[bool](p, "Boolean("+expression+")")
		if err != nil {
			last = err
		}
		return is, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %.120s: %w; last: %w", expression, err, last)
	}
	return nil
}

// Click clicks the first element that matches.
func (p *Page) Click(selector string) error {
	if err := p.Do(chromedp.Click(chromedp.CSS(selector))); err != nil {
		return fmt.Errorf("clicking %s: %w", selector, err)
	}
	return nil
}

// View writes the visible part of the page to a PNG file.
func (p *Page) View(path string) error {
	png, err := get(p, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("taking a picture: %w", err)
	}
	return os.WriteFile(path, png, 0o644)
}

// whole makes a page lay out its invisible parts, for a picture of the entire page.
const whole = `(() => {
	const sheet = new CSSStyleSheet();
	sheet.replaceSync('* { content-visibility: visible !important }');
	document.adoptedStyleSheets.push(sheet);
})()`

// Picture writes the entire page to a PNG file. The page stays laid out entirely.
func (p *Page) Picture(path string) error {
	if err := p.Do(chromedp.Evaluate[chromedp.Void](whole)); err != nil {
		return fmt.Errorf("showing all of a page: %w", err)
	}
	png, err := get(p, chromedp.FullScreenshot(100))
	if err != nil {
		return fmt.Errorf("taking a picture: %w", err)
	}
	return os.WriteFile(path, png, 0o644)
}

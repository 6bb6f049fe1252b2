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
	// Close the page, and forget the visitor.
	Close context.CancelFunc

	ctx    context.Context
	screen Screen

	mu     sync.Mutex
	faults []string
	hosts  map[string]bool
}

// Do some of chromedp's actions, one after the other.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// get what an action finds.
func get[T any](p *Page, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// Open a URL and wait until it is loaded. The error has the status where that is not 200.
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

// Text that a reader sees in the first element of a selector, once there is one.
func (p *Page) Text(selector string) (string, error) {
	text, err := get(p, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", selector, err)
	}
	return text, nil
}

// Value of an expression of JavaScript, as JSON has it. A promise is waited for.
func Value[T any](p *Page, expression string) (T, error) {
	value, err := get(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return value, fmt.Errorf("evaluating %.60s: %w", expression, err)
	}
	return value, nil
}

// Until an expression of JavaScript is true, over any number of pages: one that is being left has no answer.
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

// Click what a selector finds first.
func (p *Page) Click(selector string) error {
	if err := p.Do(chromedp.Click(chromedp.CSS(selector))); err != nil {
		return fmt.Errorf("clicking %s: %w", selector, err)
	}
	return nil
}

// View writes what is on the screen to a PNG file.
func (p *Page) View(path string) error {
	png, err := get(p, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("taking a picture: %w", err)
	}
	return os.WriteFile(path, png, 0o644)
}

// whole makes a page lay out what is not on the screen, too: a picture of the whole page has it.
const whole = `(() => {
	const sheet = new CSSStyleSheet();
	sheet.replaceSync('* { content-visibility: visible !important }');
	document.adoptedStyleSheets.push(sheet);
})()`

// Picture writes the whole page to a PNG file. From then on all of it is laid out.
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

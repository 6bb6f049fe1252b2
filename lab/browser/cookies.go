package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Cookies that the browser sends to the page's server, including those hidden from scripts.
func (p *Page) Cookies() ([]*network.CookieParam, error) {
	at, err := p.URL()
	if err != nil {
		return nil, fmt.Errorf("reading the page's URL: %w", err)
	}
	found, err := get(p, func(ctx context.Context, _ *chromedp.Target) (network.GetCookiesResult, error) {
		return chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{at}})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the cookies of %s: %w", at, err)
	}
	var all []*network.CookieParam
	for _, c := range found.Cookies {
		all = append(all, &network.CookieParam{
			Name: c.Name, Value: c.Value, URL: at, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly,
			SameSite: c.SameSite,
		})
	}
	return all, nil
}

// ForgetCookies deletes the cookies that the browser would send to a URL.
func (p *Page) ForgetCookies(at string) error {
	return p.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		found, err := chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{at}})
		if err != nil {
			return err
		}
		for _, c := range found.Cookies {
			_, err := chromedp.Call(ctx, network.DeleteCookies, network.DeleteCookiesParams{Name: c.Name, URL: at})
			if err != nil {
				return fmt.Errorf("deleting the cookie %s: %w", c.Name, err)
			}
		}
		return nil
	}))
}

// SetCookies gives the visitor the cookies of another.
func (p *Page) SetCookies(all []*network.CookieParam) error {
	return p.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, network.SetCookies, network.SetCookiesParams{Cookies: all})
		return err
	}))
}

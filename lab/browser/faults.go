package browser

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// notice records the errors that the browser reports, and the hosts that it contacts.
func (p *Page) notice(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		// Violations of a policy are such entries, too.
		if e.Entry.Level == log.EntryLevelError {
			p.faults = append(p.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Host != "" {
			p.hosts[u.Host] = true
		}
	}
}

// Faults are exceptions, violations of the content security policy and failed requests so far.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Hosts that the page has sent requests to, sorted.
func (p *Page) Hosts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for host := range p.hosts {
		all = append(all, host)
	}
	slices.Sort(all)
	return all
}

//go:build cluster

package demo

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
)

const cluster = "/board/clusters/default"

// Scripts that record what a page shows, whenever it changes.
const (
	// phases of every row of the list of jobs, without repetitions.
	phases = `window.seenPhases = {}
		new MutationObserver(look).observe(document.querySelector('#jobs'),
			{subtree: true, childList: true, characterData: true, attributes: true})
		function look() {
			for (const row of document.querySelectorAll('#jobs > tr')) {
				const name = row.querySelector('th a').textContent, phase = row.querySelector('.phase').textContent
				const all = seenPhases[name] ??= []
				if (all.at(-1) !== phase) all.push(phase)
			}
		}
		look()`
	// the most GPUs that each gang on the map has had, and all gangs together.
	holders = `window.most = {all: 0}
		new MutationObserver(look).observe(document.querySelector('#main'),
			{subtree: true, childList: true, characterData: true, attributes: true})
		function look() {
			let all = 0
			for (const gang of document.querySelectorAll('#map-gangs > li:not(.rest)')) {
				const name = gang.querySelector('a').textContent
				const has = Number.parseInt(gang.querySelector('.amount').textContent)
				most[name] = Math.max(most[name] ?? 0, has)
				all += has
			}
			most.all = Math.max(most.all, all)
		}
		look()`
	// reasons that the page of a job showed for its waiting, with their numbers.
	reasons = `window.seenReasons = []
		new MutationObserver(look).observe(document.querySelector('#main'),
			{subtree: true, childList: true, characterData: true, attributes: true})
		function look() {
			const of = selector => document.querySelector('#job-reason ' + selector)?.textContent ?? ''
			const now = [of('.summary'), of('.arithmetic tbody')].join(' | ')
			if (seenReasons.at(-1) !== now) seenReasons.push(now)
		}
		look()`
)

// visitor of the board.
type visitor struct {
	*browser.Page
	t    *testing.T
	host string
}

func (v *visitor) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) open(path string) {
	v.t.Helper()
	v.must(v.Open(v.host + path))
}

// value returns the value of a JavaScript expression.
func value[T any](v *visitor, expression string) T {
	v.t.Helper()
	got, err := browser.Value[T](v.Page, expression)
	v.must(err)
	return got
}

// run runs a script on the open page.
func (v *visitor) run(script string) {
	v.t.Helper()
	if !value[bool](v, "(() => {"+script+"; return true})()") {
		v.t.Fatal("the script has not run")
	}
}

// Package browser runs a headless Chromium like a user: it opens pages, clicks and types, and reports faults.
//
//	browser.go        the process, and visitors, each with own cookies
//	page.go           the actions of a visitor
//	cookies.go        the cookies of a visitor
//	faults.go         exceptions, policy violations, requests to other hosts
//	accessibility.go  axe-core, which finds barriers to using a page
//	inspect.go        these, and pages that do not fit on the screen
//
// Chromium is Debian's package chromium; axe-core is installed from package-lock.json. Neither is part of the
// product.
package browser

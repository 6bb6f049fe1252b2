// Package browser runs a headless Chromium as a user of a page would: it looks, clicks and types, and says
// what went wrong on the way.
//
//	browser.go        the process, and visitors, each with cookies of its own
//	page.go           what a visitor does and sees
//	cookies.go        what makes one visitor another
//	faults.go         what the browser complains of: exceptions, a violated policy, requests to other hosts
//	accessibility.go  axe-core, which finds what keeps people from using a page
//	inspect.go        that, and a page that does not fit on its screen
//
// Chromium is Debian's package chromium, and axe-core is installed from package-lock.json. Neither is part of
// the product.
package browser

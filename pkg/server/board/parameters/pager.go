package parameters

// Pager is the position of one page in a list.
type Pager struct {
	// First and Last are the numbers of the page's items, from 1. First is larger if the page has none.
	First, Last, Total int
	// Page is the number of the page, from 1; Pages is at least 1.
	Page, Pages int
	// Previous and Next are URLs, empty if there is no such page.
	Previous, Next string
}

// NewPager returns the pager of a page of up to limit items, in a list of total items. A page after the last
// is empty, and Previous leads to the last.
func NewPager(total, limit, page int, url func(page int) string) Pager {
	first := min(total, (page-1)*limit)
	p := Pager{First: first + 1, Last: min(total, first+limit), Total: total, Page: page}
	p.Pages = max(1, (total+limit-1)/limit)
	if page > 1 {
		p.Previous = url(min(page-1, p.Pages))
	}
	if page < p.Pages {
		p.Next = url(page + 1)
	}
	return p
}

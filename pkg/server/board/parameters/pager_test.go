package parameters_test

import (
	"fmt"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

func TestPager(t *testing.T) {
	url := func(page int) string { return fmt.Sprint("page ", page) }
	for name, test := range map[string]struct {
		total, page int
		want        parameters.Pager
	}{
		"empty list": {0, 1, parameters.Pager{First: 1, Page: 1, Pages: 1}},
		"one page":   {10, 1, parameters.Pager{First: 1, Last: 10, Total: 10, Page: 1, Pages: 1}},
		"first":      {11, 1, parameters.Pager{First: 1, Last: 10, Total: 11, Page: 1, Pages: 2, Next: "page 2"}},
		"last": {11, 2, parameters.Pager{
			First: 11, Last: 11, Total: 11, Page: 2, Pages: 2, Previous: "page 1",
		}},
		"after the last": {11, 9, parameters.Pager{
			First: 12, Last: 11, Total: 11, Page: 9, Pages: 2, Previous: "page 2",
		}},
	} {
		if got := parameters.NewPager(test.total, 10, test.page, url); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

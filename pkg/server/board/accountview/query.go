package accountview

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

const (
	monthly = "2006-01"
	// perPage rows.
	perPage = 200
	maxPage = 1000
	// none is the value of the parameter by for one sum.
	none = "none"
)

// dimensions in the order of columns.
var dimensions = []store.Dimension{
	store.ByDay, store.ByNamespace, store.ByQueue, store.ByUser, store.ByGPUKind, store.ByJob,
}

// reader of the parameters. Dimensions are joined by commas.
var reader = parameters.Reader{Lists: []string{"by"}}

// Query of the accounting.
type Query struct {
	// Month, for example 2026-03; empty for From and Last, or for the API's default.
	Month string
	// From is the first day, Last the last one, UTC, as 2026-03-31; empty for the API's default.
	From, Last string
	// Namespace to count; empty for all that the reader may see.
	Namespace string
	// By is the dimensions, in the order of columns. None is one sum.
	By []store.Dimension
	// Page of the rows, from 1.
	Page int
}

// ParseQuery parses the parameters of a URL. The error is a problem that names the parameter; an unknown
// parameter is an error. The default of by is queue.
func ParseQuery(values url.Values) (Query, error) {
	q := &Query{By: []store.Dimension{store.ByQueue}, Page: 1}
	if err := reader.Each(values, q.parse); err != nil {
		return *q, err
	}
	switch {
	case q.Month != "" && q.From+q.Last != "":
		return *q, parameters.Invalid("month", "the days are given as well", "give either the month or the days")
	case q.From != "" && q.Last != "" && q.Last < q.From:
		return *q, parameters.Invalid("last", "it is before the first day", "give a later one")
	}
	return *q, nil
}

func (q *Query) parse(name, value string) (err error) {
	switch name {
	case "month":
		q.Month, err = parseTime(name, value, monthly)
	case "from":
		q.From, err = parseTime(name, value, time.DateOnly)
	case "last":
		q.Last, err = parseTime(name, value, time.DateOnly)
	case "namespace":
		q.Namespace = value
	case "by":
		q.By, err = parseBy(value)
	case "page":
		if q.Page, err = strconv.Atoi(value); err != nil || q.Page < 1 || q.Page > maxPage {
			return parameters.Invalid(name, fmt.Sprintf("it is %q", value),
				fmt.Sprintf("give a number from 1 to %d", maxPage))
		}
	default:
		err = parameters.Unknown(name)
	}
	return err
}

func parseTime(name, value, layout string) (string, error) {
	if value == "" {
		return "", nil
	}
	if t, err := time.Parse(layout, value); err != nil || t.Year() < 1970 {
		return "", parameters.Invalid(name, fmt.Sprintf("it is %q", value), "write it as "+strings.NewReplacer(
			"2006", "2026", "01", "03", "02", "31").Replace(layout))
	}
	return value, nil
}

// parseBy returns the dimensions that are separated by commas; "none" is no dimension.
func parseBy(value string) ([]store.Dimension, error) {
	by, err := parameters.ParseList("by", value, append(slices.Clone(dimensions), none))
	return slices.DeleteFunc(by, func(d store.Dimension) bool { return d == none }), err
}

// Input of the API for the query.
func (q Query) Input(cluster string) *rest.AccountingInput {
	in := &rest.AccountingInput{
		ClusterPath: rest.ClusterPath{Cluster: cluster}, By: slices.Clone(q.By), Namespace: q.Namespace,
	}
	// ParseQuery has validated the dates.
	if q.Month != "" {
		in.From, _ = time.Parse(monthly, q.Month)
		in.To = in.From.AddDate(0, 1, 0)
	}
	if q.From != "" {
		in.From, _ = time.Parse(time.DateOnly, q.From)
	}
	if q.Last != "" {
		last, _ := time.Parse(time.DateOnly, q.Last)
		in.To = last.AddDate(0, 0, 1)
	}
	return in
}

// values of the parameters, without defaults.
func (q Query) values() url.Values {
	v := parameters.Values(map[string]string{
		"month": q.Month, "from": q.From, "last": q.Last, "namespace": q.Namespace, "by": q.by(),
	})
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	return v
}

// by is the value of the parameter by; empty for the default.
func (q Query) by() string {
	switch {
	case len(q.By) == 0:
		return none
	case slices.Equal(q.By, []store.Dimension{store.ByQueue}):
		return ""
	}
	return parameters.Join(q.By)
}

// URL of the page, relative to itself. ParseQuery reads its parameters.
func (q Query) URL() string { return "?" + q.values().Encode() }

// in selects a month; empty for the current one.
func (q Query) in(month string) Query {
	q.Month, q.From, q.Last, q.Page = month, "", "", 1
	return q
}

// within selects a namespace, by queue and user.
func (q Query) within(namespace string) Query {
	q.Namespace, q.Page = namespace, 1
	q.By = []store.Dimension{store.ByQueue, store.ByUser}
	return q
}

// at selects another page.
func (q Query) at(page int) Query {
	q.Page = page
	return q
}

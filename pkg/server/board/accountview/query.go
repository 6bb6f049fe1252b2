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

// reader of the parameters. What is told apart is joined by commas.
var reader = parameters.Reader{Lists: []string{"by"}}

// Query is what of the accounting is asked for.
type Query struct {
	// Month such as 2026-03; empty for From and Last, or for the month that the API takes by default.
	Month string
	// From is the first day, Last the last one, UTC, as 2026-03-31; empty as the API has it by default.
	From, Last string
	// Namespace that is counted; empty for all that the reader may see.
	Namespace string
	// By is what is told apart, in the order of columns. None is one sum.
	By []store.Dimension
	// Page of the rows, from 1.
	Page int
}

// ParseQuery reads the parameters of a URL. The error is a problem that names the parameter; one that the
// page does not have is an error, too. Without the parameter by, queues are told apart.
func ParseQuery(values url.Values) (Query, error) {
	q := &Query{By: []store.Dimension{store.ByQueue}, Page: 1}
	if err := reader.Each(values, q.parse); err != nil {
		return *q, err
	}
	switch {
	case q.Month != "" && q.From+q.Last != "":
		return *q, parameters.Invalid("month", "the days are given, too", "give either the month or the days")
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

// Input is what to ask of the API.
func (q Query) Input(cluster string) *rest.AccountingInput {
	in := &rest.AccountingInput{
		ClusterPath: rest.ClusterPath{Cluster: cluster}, By: slices.Clone(q.By), Namespace: q.Namespace,
	}
	// What ParseQuery has let through can be read.
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

// values of the parameters, without those that are as by default.
func (q Query) values() url.Values {
	v := parameters.Values(map[string]string{
		"month": q.Month, "from": q.From, "last": q.Last, "namespace": q.Namespace, "by": q.by(),
	})
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	return v
}

// by is the parameter of that name; empty where it is as by default.
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

// in a month; empty for the one that is now.
func (q Query) in(month string) Query {
	q.Month, q.From, q.Last, q.Page = month, "", "", 1
	return q
}

// within a namespace, whose queues and users are told apart.
func (q Query) within(namespace string) Query {
	q.Namespace, q.Page = namespace, 1
	q.By = []store.Dimension{store.ByQueue, store.ByUser}
	return q
}

// at another page.
func (q Query) at(page int) Query {
	q.Page = page
	return q
}

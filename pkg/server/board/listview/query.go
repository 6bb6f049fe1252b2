package listview

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

// Bounds of a page.
const (
	defaultLimit = 100
	maxLimit     = 500
)

// Unseen stands for the phase of jobs without a status.
const Unseen v1alpha1.Phase = "Unseen"

// phases in the order of a job's life.
var phases = []v1alpha1.Phase{
	Unseen, v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning,
	v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded,
	v1alpha1.PhaseFailed,
}

// reader of the parameters. Phases are joined by commas.
var reader = parameters.Reader{Lists: []string{"phase"}}

// Query of a list. Empty fields restrict nothing.
type Query struct {
	// Namespace, Queue and User are exact.
	Namespace, Queue, User string
	Phases                 []v1alpha1.Phase
	// Text is searched in namespace/name, queue, user, priority class and reason, ignoring case.
	Text string
	// Sort is the key of a column. Equal jobs are by namespace and name.
	Sort       string
	Descending bool
	// Limit of jobs on a page, from 1 to 500, and Page, from 1.
	Limit, Page int
}

// ParseQuery parses the parameters of a URL. The error is a problem that names the parameter; an unknown
// parameter is an error.
func ParseQuery(values url.Values) (Query, error) {
	q := Query{Sort: sortAge, Limit: defaultLimit, Page: 1}
	err := reader.Each(values, func(name, value string) (err error) {
		switch name {
		case "namespace":
			q.Namespace = value
		case "queue":
			q.Queue = value
		case "user":
			q.User = value
		case "q":
			q.Text = value
		case "phase":
			q.Phases, err = parameters.ParseList(name, value, phases)
		case "sort":
			q.Sort, q.Descending, err = parseSort(value)
		case "limit":
			q.Limit, err = parseNumber(name, value, defaultLimit, maxLimit)
		case "page":
			q.Page, err = parseNumber(name, value, 1, 1_000_000)
		default:
			err = parameters.Unknown(name)
		}
		return err
	})
	return q, err
}

func parseSort(value string) (key string, descending bool, err error) {
	if value == "" {
		return sortAge, false, nil
	}
	key, descending = strings.CutPrefix(value, "-")
	if _, known := compares[key]; !known {
		return sortAge, false, parameters.Invalid("sort", fmt.Sprintf("there is no column %q", key),
			"use one of "+strings.Join(slices.Sorted(columnKeys), ", ")+`, with "-" before it for the other way round`)
	}
	return key, descending, nil
}

func columnKeys(yield func(string) bool) {
	for key := range compares {
		if !yield(key) {
			return
		}
	}
}

func parseNumber(name, value string, standby, most int) (int, error) {
	if value == "" {
		return standby, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return standby, parameters.Invalid(name, fmt.Sprintf("it is %q", value),
			fmt.Sprintf("give a number from 1 to %d", most))
	}
	return n, nil
}

// Values are the parameters of the query, without defaults. ParseQuery reads them.
func (q Query) Values() url.Values {
	v := parameters.Values(map[string]string{
		"namespace": q.Namespace, "queue": q.Queue, "user": q.User, "q": q.Text,
		"phase": parameters.Join(q.Phases),
	})
	if q.Descending {
		v.Set("sort", "-"+q.Sort)
	} else if q.Sort != sortAge {
		v.Set("sort", q.Sort)
	}
	if q.Limit != defaultLimit {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Page != 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	return v
}

// URL of the list, relative to its page.
func (q Query) URL() string { return "?" + q.Values().Encode() }

// at selects another page of the list.
func (q Query) at(page int) Query {
	q.Page = page
	return q
}

// only selects jobs of some phases.
func (q Query) only(of ...v1alpha1.Phase) Query {
	q.Phases, q.Page = of, 1
	return q
}

// by sorts by a column, in the other direction if it is the current column.
func (q Query) by(key string) Query {
	q.Descending = q.Sort == key && !q.Descending
	q.Sort, q.Page = key, 1
	return q
}

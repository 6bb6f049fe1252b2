package accountview

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// ParseCSV parses the parameters of the CSV's path: from, to, by and namespace, as in the API. The error is a
// problem that names the parameter; an unknown parameter is an error. The API validates by and the length of
// the period.
func ParseCSV(cluster string, values url.Values) (*rest.AccountingInput, error) {
	in := &rest.AccountingInput{ClusterPath: rest.ClusterPath{Cluster: cluster}}
	err := parameters.Reader{}.Each(values, func(name, value string) (err error) {
		switch name {
		case "from":
			in.From, err = parseDay(name, value)
		case "to":
			in.To, err = parseDay(name, value)
		case "namespace":
			in.Namespace = value
		case "by":
			for of := range strings.SplitSeq(value, ",") {
				if of != "" {
					in.By = append(in.By, store.Dimension(of))
				}
			}
		default:
			err = parameters.Invalid(name, "the accounting has no such parameter", "leave it out")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return in, nil
}

// parseDay returns zero, the API's default, for "".
func parseDay(name, value string) (time.Time, error) {
	text, err := parseTime(name, value, time.DateOnly)
	if text == "" {
		return time.Time{}, err
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, parameters.Invalid(name, fmt.Sprintf("it is %q", value), "write it as 2026-03-31")
	}
	return day, nil
}

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

// ParseCSV reads the parameters of the path of the CSV, which are the API's: from, to, by and namespace. The
// error is a problem that names the parameter; one that the API does not have is an error, too. What may be
// told apart and how long the period may be, the API says.
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
			err = parameters.Invalid(name, "the accounting does not have it", "leave it out")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return in, nil
}

// parseDay is zero for nothing, which is the API's default.
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

package checkpoint

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Metric is a number as text: text is never rounded on the way, and can be NaN or infinite.
type Metric string

const maxMetricLen = 32

// metricValue matches a number as JSON, Python and Go print it.
var metricValue = regexp.MustCompile(
	`^(-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|nan|[+-]?(Infinity|Inf|inf))$`)

// UnmarshalJSON accepts a JSON number as well as a string.
func (m *Metric) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	if !isMetric(text) {
		return fmt.Errorf("metric %.40q is not a number", text)
	}
	*m = Metric(text)
	return nil
}

// IsMetric reports whether a status can have a metric of this name and value.
func IsMetric(name, value string) bool {
	return patterns["metric"].MatchString(name) && isMetric(value)
}

func isMetric(text string) bool {
	return len(text) <= maxMetricLen && metricValue.MatchString(text)
}

package checkpoint

import (
	"encoding/json"
	"fmt"
)

// Metric is a number as text, so that it is not rounded on its way and may be NaN or infinite.
type Metric string

const maxMetricLen = 32

// UnmarshalJSON takes a JSON number too.
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

func isMetric(text string) bool {
	return len(text) <= maxMetricLen && patterns["number"].MatchString(text)
}

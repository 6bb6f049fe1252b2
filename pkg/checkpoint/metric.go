package checkpoint

import (
	"encoding/json"
	"fmt"
	"strconv"
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

// isMetric: ParseFloat also takes hexadecimal and underscores, but those stay within the same alphabet.
func isMetric(text string) bool {
	if text == "" || len(text) > maxMetricLen {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || (err.(*strconv.NumError)).Err == strconv.ErrRange
}

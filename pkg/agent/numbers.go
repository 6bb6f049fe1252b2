package agent

import (
	"fmt"
	"strconv"
)

const maxAttempt = 1_000_000

// parseNumber returns def for an empty text.
func parseNumber(name, text string, def, low, high int) (int, error) {
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return n, fmt.Errorf("%s is %q: give a whole number from %d to %d", name, text, low, high)
	}
	return n, nil
}

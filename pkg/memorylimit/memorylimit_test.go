package memorylimit

import (
	"math"
	"runtime/debug"
	"testing"
)

const variable = "EXAMPLE_MEMORY_LIMIT"

func TestFollow(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for name, tc := range map[string]struct {
		variables map[string]string
		want      int64
		fails     bool
	}{
		"a container's limit": {map[string]string{variable: "536870912"}, 483183819, false},
		"outside a container": {nil, math.MaxInt64, false},
		"an admin's own limit": {
			map[string]string{variable: "536870912", "GOMEMLIMIT": "1GiB"}, math.MaxInt64, false,
		},
		"no number": {map[string]string{variable: "512Mi"}, math.MaxInt64, true},
		"nothing":   {map[string]string{variable: "0"}, math.MaxInt64, true},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		err := Follow(variable, func(name string) string { return tc.variables[name] })
		// Tenths of a byte are cut off.
		if got := debug.SetMemoryLimit(-1); got/10 != tc.want/10 || (err != nil) != tc.fails {
			t.Errorf("%s: the limit is %d, want %d; %v", name, got, tc.want, err)
		}
	}
}

package checkpoint

import (
	"regexp"
	"strconv"
	"strings"
)

// AttemptDir is the name of an attempt's directory below the job's checkpoint path.
func AttemptDir(attempt int32) string { return "attempt-" + strconv.Itoa(int(attempt)) }

var attemptDir = regexp.MustCompile(`^attempt-([1-9][0-9]{0,6})$`)

// attemptOf is the attempt whose directory a path lies in, 0 if none.
func attemptOf(p string) int32 {
	for s := range strings.SplitSeq(p, "/") {
		if m := attemptDir.FindStringSubmatch(s); m != nil {
			n, _ := strconv.Atoi(m[1])
			return int32(n)
		}
	}
	return 0
}

var (
	namedStep  = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:step|iter|iteration)s?[=_-]?([0-9]{1,15})(?:[^0-9]|$)`)
	lastNumber = regexp.MustCompile(`^(?:.*[^0-9])?([0-9]{1,15})[^0-9]*$`)
	epochNamed = regexp.MustCompile(`(?i)epoch`)
	suffixes   = []string{".weights.h5", ".keras", ".ckpt", ".pt", ".pth"}
)

// stepOf reads the step from a name: the number after "step" or "iter" ("step=1200", "global_step1200"), else
// the last number. The last number of a name with an epoch may be the epoch, so it does not count.
func stepOf(name string) int64 {
	for _, s := range suffixes {
		name = strings.TrimSuffix(name, s)
	}
	m := namedStep.FindStringSubmatch(name)
	if m == nil && !epochNamed.MatchString(name) && !attemptDir.MatchString(name) {
		m = lastNumber.FindStringSubmatch(name)
	}
	if m == nil {
		return noStep
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return noStep
	}
	return n
}

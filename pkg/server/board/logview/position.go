package logview

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// Position in a log: after the first Count lines of a time. The zero value is before all lines.
type Position struct {
	Time  time.Time
	Count int64
	// Pod is the tag of the pod that wrote the line: the rank's next pod has another clock. Empty: unknown.
	Pod string
}

// tagOf returns a short hash that distinguishes the pods of a rank.
func tagOf(pod string) string {
	if pod == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(pod))
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:5]))
}

// ParsePosition parses an event's id or the parameter after; "" is the zero value.
func ParsePosition(s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	parts := strings.Split(s, "-")
	if len(parts) != 2 && len(parts) != 3 {
		return Position{}, noPosition(s)
	}
	at, err := strconv.ParseInt(parts[0], 36, 64)
	n, err2 := strconv.ParseInt(parts[1], 36, 64)
	if err != nil || err2 != nil || n < 1 || at < 0 {
		return Position{}, noPosition(s)
	}
	p := Position{Time: time.Unix(0, at).UTC(), Count: n}
	if len(parts) == 3 {
		p.Pod = parts[2]
	}
	return p, nil
}

func noPosition(s string) error {
	return problem.Newf(problem.Invalid, "%.100q is not a position in a log", s).About("query." + ParamAfter).
		WithRemedy("leave it out: the log is read from its last lines on")
}

func (p Position) String() string {
	if p.Time.IsZero() {
		return ""
	}
	s := strconv.FormatInt(p.Time.UnixNano(), 36) + "-" + strconv.FormatInt(p.Count, 36)
	if p.Pod != "" {
		s += "-" + p.Pod
	}
	return s
}

// in returns the position in the log of a pod: the start, if the position is of another pod.
func (p Position) in(pod string) Position {
	switch tag := tagOf(pod); {
	case tag == "" || tag == p.Pod:
		return p
	case p.Pod == "":
		p.Pod = tag
		return p
	default:
		return Position{Pod: tag}
	}
}

// behind returns the position after a line. A line without a time, or an older one, does not change it, since
// clocks can be set.
func (p Position) behind(l Line) Position {
	switch {
	case l.Time.IsZero() || l.Time.Before(p.Time):
		return p
	case l.Time.Equal(p.Time):
		p.Count++
		return p
	}
	return Position{l.Time, 1, p.Pod}
}

// since skips the lines before a position, in a log that is read again.
type since struct {
	start Position
	same  int64 // lines at the time of start, so far
	over  bool  // a later line has come
}

func (s *since) skips(l Line) bool {
	switch {
	case s.over || s.start.Time.IsZero():
		return false
	case l.Time.IsZero() || l.Time.Before(s.start.Time):
		return true
	case l.Time.Equal(s.start.Time):
		s.same++
		return s.same <= s.start.Count
	}
	s.over = true
	return false
}

package logview

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// Position in a log: behind the Count-th line that was written at a time. The zero one is before all lines.
type Position struct {
	Time  time.Time
	Count int64
}

// ParsePosition of an event's id, or of the parameter of the same meaning; "" is the zero one.
func ParsePosition(s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	nano, count, _ := strings.Cut(s, "-")
	at, err := strconv.ParseInt(nano, 10, 64)
	n, err2 := strconv.ParseInt(count, 10, 64)
	if err != nil || err2 != nil || n < 1 || at < 0 {
		return Position{}, problem.Newf(problem.Invalid, "%q is no position of a log", s).About("query.after").
			WithRemedy("leave it out: the log is read from its last lines on")
	}
	return Position{time.Unix(0, at).UTC(), n}, nil
}

func (p Position) String() string {
	if p.Time.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d-%d", p.Time.UnixNano(), p.Count)
}

// behind a line. A line without a time leaves it where it is, and so does one that is older: clocks are set.
func (p Position) behind(l Line) Position {
	switch {
	case l.Time.IsZero() || l.Time.Before(p.Time):
		return p
	case l.Time.Equal(p.Time):
		return Position{p.Time, p.Count + 1}
	}
	return Position{l.Time, 1}
}

// since leaves out the lines that lie before a position, of a log that is read once more.
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

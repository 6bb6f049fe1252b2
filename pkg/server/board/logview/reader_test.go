package logview

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns a time in the kubelet's format.
func at(seconds int) string {
	return epoch.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339Nano)
}

var epoch = time.Date(2026, 3, 2, 9, 0, 0, 5, time.UTC)

func read(t *testing.T, from io.Reader) []Line {
	t.Helper()
	var all []Line
	for r := newReader(from); ; {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
}

func TestLines(t *testing.T) {
	long, second := strings.Repeat("x", maxLine), epoch.Add(time.Second)
	for name, c := range map[string]struct {
		log  string
		want []Line
	}{
		"times": {
			at(1) + " a\n" + at(2) + " b b\n",
			[]Line{{second, "a", 0}, {second.Add(time.Second), "b b", 0}},
		},
		"an empty line":  {at(1) + " \n", []Line{{second, "", 0}}},
		"no time":        {"unable to read: x\n", []Line{{Text: "unable to read: x"}}},
		"no end":         {"a\nb", []Line{{Text: "a"}, {Text: "b"}}},
		"colours":        {at(1) + " \x1b[31mred\x1b[0m <b>\n", []Line{{second, "red <b>", 0}}},
		"a progress bar": {at(1) + " 1%\r2%\r3%\r\n", []Line{{second, "3%", 0}}},
		"a long line": {
			"a " + long + long + "\nb\n", []Line{{Text: "a " + long[2:], Cut: maxLine + 3}, {Text: "b"}},
		},
		"a long progress": {at(1) + " " + strings.Repeat(long+"\r", 9) + "done\n", []Line{{second, "done", 0}}},
	} {
		for how, from := range map[string]io.Reader{
			"at once": strings.NewReader(c.log), "by bytes": iotest.OneByteReader(strings.NewReader(c.log)),
			"with its end": iotest.DataErrReader(strings.NewReader(c.log)),
		} {
			if diff := cmp.Diff(c.want, read(t, from)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%.600s", name, how, diff)
			}
		}
	}
}

// TestLinesWithoutEndAreBounded: a log can be one endless line.
func TestLinesWithoutEndAreBounded(t *testing.T) {
	r := newReader(io.LimitReader(zeros{}, 64<<20))
	line, err := r.next()
	if err != nil || len(line.Text) != maxLine || line.Cut != 64<<20-maxLine {
		t.Errorf("%d bytes, %d cut, %v", len(line.Text), line.Cut, err)
	}
	if cap(r.line) > 4*maxLine {
		t.Errorf("it keeps %d bytes", cap(r.line))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestPositions: a reader that resumes at any position gets each line once.
func TestPositions(t *testing.T) {
	var log strings.Builder
	for i, second := range []int{1, 1, 1, 2, 3, 3, 9} {
		fmt.Fprintf(&log, "%s line %d\n", at(second), i)
	}
	lines := read(t, strings.NewReader(log.String()))
	var p Position
	for n, line := range lines {
		p = p.behind(line)
		back, err := ParsePosition(p.String())
		if err != nil {
			t.Fatal(err)
		}
		skip := since{start: back}
		var rest []Line
		for _, again := range lines {
			if !skip.skips(again) {
				rest = append(rest, again)
			}
		}
		if diff := cmp.Diff(lines[n+1:], rest); diff != "" && len(rest)+len(lines[n+1:]) > 0 {
			t.Errorf("behind line %d (-want +got):\n%s", n, diff)
		}
	}
	for _, bad := range []string{"x", "5", "-1-2", "5-0", "5-!", "zzzzzzzzzzzzzzzz-1", "5-1-a-b"} {
		if _, err := ParsePosition(bad); err == nil {
			t.Errorf("%q is a position", bad)
		}
	}
}

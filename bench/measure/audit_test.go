package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSince(t *testing.T) {
	event := func(stage, verb, agent, ref string) string {
		return fmt.Sprintf(`{"stage":%q,"verb":%q,"userAgent":%q,"objectRef":{%s}}`, stage, verb, agent, ref)
	}
	log := strings.Join([]string{
		event("ResponseComplete", "create", "operator/v1 (linux)", `"resource":"pods"`),
		event("ResponseComplete", "create", "operator/v1 (linux)", `"resource":"pods"`),
		event("RequestReceived", "create", "operator/v1", `"resource":"pods"`),
		event("ResponseComplete", "patch", "operator/v1", `"resource":"trainingjobs","subresource":"status"`),
		event("ResponseComplete", "create", "raw/burst", `"resource":"podgroups"`),
		`{"stage":"ResponseComplete","verb":"cre`,
	}, "\n")
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &AuditLog{path: path}
	got, err := l.Since()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Writes{
		"operator": {"create pods": 2, "patch trainingjobs/status": 1},
		"raw":      {"create podgroups": 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if want := int64(strings.LastIndex(log, "\n") + 1); l.offset != want {
		t.Errorf("read %d bytes, want %d: half a line is left for the next call", l.offset, want)
	}
}

// TestAuditLogBeginsWithAWholeLine: seen with 10,000 writes a second, where the log's end was within a line.
func TestAuditLogBeginsWithAWholeLine(t *testing.T) {
	const line = `{"stage":"ResponseComplete","verb":"create","userAgent":"a/1",` +
		`"objectRef":{"resource":"pods"}}` + "\n"
	for name, begun := range map[string]string{
		"an empty log": "", "a whole line": line, "half a line": line + line[:len(line)/2],
		"half of the first": line[:len(line)/2],
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			write := func(text string) {
				f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := f.WriteString(text); err != nil {
					t.Fatal(err)
				}
			}
			write(begun)
			l, err := NewAuditLog(path)
			if err != nil {
				t.Fatal(err)
			}
			rest := line
			if n := len(begun) % len(line); n > 0 {
				rest = line[n:]
			}
			write(rest)
			got, err := l.Since()
			if err != nil || got["a"]["create pods"] != 1 {
				t.Errorf("counted %v, %v, want one", got, err)
			}
		})
	}
}

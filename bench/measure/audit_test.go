package measure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCount(t *testing.T) {
	const log = `{"stage":"ResponseComplete","verb":"create","userAgent":"operator/v1 (linux)","objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"create","userAgent":"operator/v1 (linux)","objectRef":{"resource":"pods"}}
{"stage":"RequestReceived","verb":"create","userAgent":"operator/v1","objectRef":{"resource":"pods"}}
{
	"stage":"ResponseComplete","verb":"patch","userAgent":"operator/v1","objectRef":{
		"resource":"trainingjobs","subresource":"status",
	},
}
{"stage":"ResponseComplete","verb":"create","userAgent":"raw/burst","objectRef":{"resource":"podgroups"}}
{"stage":"ResponseComplete","verb":"cre`
	got, read, err := count(strings.NewReader(log))
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
	if want := int64(strings.LastIndex(log, "\n") + 1); read != want {
		t.Errorf("read %d bytes, want %d: half a line is left for the next call", read, want)
	}
	if n := got["operator"].Total(); n != 3 {
		t.Errorf("total %d, want 3", n)
	}
}

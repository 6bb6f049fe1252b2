package measure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCount(t *testing.T) {
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
}

package config

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// FuzzConfig: a file is refused or understood, and what is understood is written and read again as the same.
// An ordinary test run executes the seeds; `go test -fuzz FuzzConfig ./pkg/config` searches further.
func FuzzConfig(f *testing.F) {
	const (
		maxInput = 64 << 10
		maxAlloc = 64 << 20         // bytes
		maxTime  = 30 * time.Second // ends a run that hangs
	)
	for _, path := range []string{"../../deploy/operator/config.yaml", "../../deploy/reports/config.yaml"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var m struct{ Data map[string]string }
		if err := yaml.Unmarshal(data, &m); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(m.Data["config.yaml"]))
	}
	f.Add([]byte(head))
	f.Add([]byte(head + "schedulers: {allowed: [kueue], kueue: {binder: native}}\ndefaultScheduler: kueue\n"))
	f.Add([]byte(head + "reports: {bindAddress: ':1', url: 'https://[::1]:1', certificateDir: /a}\n"))
	f.Add([]byte(head + "workers: 1e9\n"))
	f.Add([]byte(head + "metrics: &a {bindAddress: '[::]:08443'}\nhealth: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxInput {
			return
		}
		watchdog := time.AfterFunc(maxTime, func() { panic("it hangs") })
		defer watchdog.Stop()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := Parse(data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > maxAlloc {
			t.Fatalf("%d bytes of YAML allocate %d bytes", len(data), used)
		}
		if err != nil {
			return
		}
		if c.Workers < 1 || c.Workers > 100 {
			t.Fatalf("%d workers", c.Workers)
		}
		text, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("what was accepted is refused when it is written again: %v\n%s", err, text)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("written and read again (-before +after):\n%s", diff)
		}
	})
}

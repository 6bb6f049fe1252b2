package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// FuzzConfig: a file is refused or understood, and what is understood is written and read again as the same.
// An ordinary test run executes the seeds; `go test -fuzz FuzzConfig ./pkg/server/config` searches further.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + "prices: [{gpuKind: a, perGPUHour: 1.50}]\nclusters: [{name: a}]\n"))
	f.Add([]byte(head + "database: {url: 'postgres://[::1]/a'}\ngpuKindLabels: []\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		c, err := Parse(data)
		if err != nil {
			return
		}
		written, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("(-read +written and read):\n%s", diff)
		}
	})
}

package trainingjob

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// TestRehearsalOffChangesNothing compares all that the operator creates, writes and answers in the stories of
// jobs without spec.rehearsal with testdata/digests.txt, byte for byte. The commit before rehearsals has the
// same digests. The logs of the stories show what a different digest means.
func TestRehearsalOffChangesNothing(t *testing.T) {
	var lines []string
	for _, stories := range allStories {
		for name, s := range stories {
			if !spec.IsRehearsal(s.job) {
				lines = append(lines, fmt.Sprintf("%s %s\n", digestOf(t, name, s), name))
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[17:], b[17:]) })
	got, golden := strings.Join(lines, ""), filepath.Join("testdata", "digests.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("what the operator writes differs; run with -update (-want +got):\n%s", diff)
	}
}

// digestOf plays a story and returns the digest of what the operator creates, writes and answers.
func digestOf(t *testing.T, name string, s story) string {
	t.Helper()
	hash := sha256.New()
	sim := newSimulation(t, s.job.DeepCopy())
	sim.checksOwners = math.MaxInt // TestStories checks them
	sim.written = func(object any) {
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(data), []byte("rehears")) {
			t.Errorf("%s: a job that is no rehearsal has %s", name, data)
		}
		hash.Write(append(data, '\n'))
	}
	s.play(sim)
	return fmt.Sprintf("%x", hash.Sum(nil)[:8])
}

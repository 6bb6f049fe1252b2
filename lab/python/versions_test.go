package python

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedReleases: docs/frameworks.md names the releases in the locks.
func TestDocumentedReleases(t *testing.T) {
	page, err := os.ReadFile("../../docs/frameworks.md")
	if err != nil {
		t.Fatal(err)
	}
	for lock, packages := range map[string][]string{
		"torch":      {"torch", "deepspeed", "transformers", "accelerate", "lightning"},
		"jax":        {"jax", "flax", "orbax-checkpoint", "keras"},
		"tensorflow": {"tensorflow-cpu"},
		"boosting":   {"xgboost", "lightgbm"},
		"mxnet":      {"mxnet", "numpy"},
	} {
		content, err := os.ReadFile("locks/" + lock + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			release := regexp.MustCompile(`(?m)^` + p + `==(\S+)`).FindSubmatch(content)
			if release == nil || !strings.Contains(string(page), " "+string(release[1])) {
				t.Errorf("the page does not name %s of %s.txt: %q", p, lock, release)
			}
		}
	}
}

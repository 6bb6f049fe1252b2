package mlflow_test

import (
	"os"
	"regexp"
	"testing"
)

// TestDocumentedVersion compares the release in the documentation with the one that the tests install.
func TestDocumentedVersion(t *testing.T) {
	version := func(path, pattern string) string {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindSubmatch(content)
		if found == nil {
			t.Fatalf("%s has no %s", path, pattern)
		}
		return string(found[1])
	}
	tested := version("../python/locks/mlflow.txt", `(?m)^mlflow==(\S+)`)
	if got := version("../../docs/mlflow.md", `server of \[MLflow\]\(\S+\) (\d\S*)\.`); got != tested {
		t.Errorf("docs/mlflow.md names MLflow %s, the tests run %s", got, tested)
	}
}

package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

func TestExamplesAreValid(t *testing.T) {
	objects, err := apitest.Objects(".")
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for _, o := range objects {
		if o.GetKind() != "TrainingJob" {
			continue
		}
		jobs++
		t.Run(o.Path+"/"+o.GetName(), func(t *testing.T) {
			decoder := json.NewDecoder(bytes.NewReader(o.Raw))
			decoder.DisallowUnknownFields()
			var job v1alpha1.TrainingJob
			if err := decoder.Decode(&job); err != nil {
				t.Fatal(err)
			}
			if errs := validation.Validate(&job); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
	if jobs < 15 {
		t.Errorf("found only %d jobs", jobs)
	}
}

// Every example begins with the question that it answers, and README.md lists it.
func TestExamplesAnswerAQuestion(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		question, ok := strings.CutPrefix(first, "# ")
		if !ok || !strings.HasSuffix(question, "?") {
			t.Errorf("%s begins not with a question but with %q", name, first)
		}
		if line := "| " + question + " | [" + name + "](" + name + ") |"; !strings.Contains(string(readme), line) {
			t.Errorf("README.md lacks the line %s", line)
		}
		if !strings.Contains(string(text), "kubectl apply -f examples/"+name) {
			t.Errorf("%s does not say how to apply it", name)
		}
	}
}

// TestOptuna also kills the driver at each of its calls.
func TestOptuna(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "python3", "-m", "unittest", "study_test.py")
	cmd.Dir = "optuna"
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("python3: %v\n%s", err, out)
	}
}

package convert_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

// FuzzConvert: whatever a file says, it is converted into what the API takes, or there is an error; messages
// have no control characters. An ordinary test run executes the seeds;
// `go test -fuzz FuzzConvert -fuzzminimizetime=5x ./pkg/convert` searches further.
func FuzzConvert(f *testing.F) {
	refused, err := filepath.Glob("testdata/*/*.refused.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(inputs(f), refused...) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("#!/bin/bash\n#SBATCH -N 2\nA=\"$B $B\"\nB=$A\nsrun $A \"${C[@]}\" $(scontrol show hostnames)"))
	f.Add([]byte("#!/bin/sh\n#SBATCH --gres=gpu:a:4 --time=1-2:3 -w a[1-3],b\nsrun -n $SLURM_NNODES bash -c " +
		"'a; b'"))
	f.Add([]byte("a: &a [x]\nb: [*a, *a]"))
	f.Add([]byte(`{"runtime": "", "replicas": {"replicas": [{}]}}`))
	f.Add([]byte("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: 2147483647, " +
		"completions: 2147483647, completionMode: Indexed}"))
	f.Add([]byte("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {tasks: [{replicas: 2147483647}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		if bytes.HasPrefix(data, []byte("#!")) { // few scripts name an image
			data = bytes.Replace(data, []byte("\n#SBATCH "), []byte("\n#SBATCH --container-image=i "), 1)
		}
		docs, err := convert.Split(data)
		if err != nil {
			return
		}
		options := convert.Options{Runtimes: convert.FindRuntimes(docs)}
		for _, doc := range docs {
			result, err := convert.Convert(doc, options)
			checkMessages(t, doc.String(), result.Warnings)
			if err != nil {
				var problems convert.Errors
				if !errors.As(err, &problems) || len(problems) == 0 {
					t.Fatalf("an error that is none: %v", err)
				}
				checkMessages(t, doc.String(), problems)
				continue
			}
			checkObjects(t, doc.Kind, result)
		}
	})
}

func checkMessages(t *testing.T, doc string, problems []convert.Problem) {
	for _, p := range problems {
		if strings.ContainsFunc(doc+p.String(), unicode.IsControl) || p.Message == "" {
			t.Fatalf("%q: %q", doc, p)
		}
	}
}

// checkObjects reads what would be printed, and holds it against the API's rules.
func checkObjects(t *testing.T, kind string, result convert.Result) {
	if len(result.Objects) == 0 && !strings.HasSuffix(kind, "TrainingRuntime") {
		t.Fatal("neither an object nor an error")
	}
	for _, o := range result.Objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, is := o.(*v1alpha1.TrainingJob); !is {
			continue
		}
		var job v1alpha1.TrainingJob
		if err := yaml.UnmarshalStrict(text, &job); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if _, known := framework.Get(string(job.Spec.Framework)); !known {
			continue
		}
		if errs := validation.Validate(&job); len(errs) > 0 {
			t.Fatalf("%v:\n%s", errs.ToAggregate(), text)
		}
	}
}

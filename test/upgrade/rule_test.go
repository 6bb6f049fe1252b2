package upgrade

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// TestAPIChangesByItsRule: whatever the other commit took or had, this tree takes and has, but for the
// exceptions that are written down.
func TestAPIChangesByItsRule(t *testing.T) {
	former := baseline(t)
	var found []string
	found = append(found, crdFindings(readCRD(t, former), readCRD(t, root))...)
	found = append(found, policyFindings(readPolicies(t, former), readPolicies(t, root))...)
	found = append(found, nameFindings(readNames(t, former), readNames(t, root))...)
	exceptions := readExceptions(t)
	for _, f := range found {
		if exceptions[f] == "" {
			t.Errorf("%s\nmend it, or write it into exceptions.yaml with a reason", f)
		}
	}
	for f := range exceptions {
		if !slices.Contains(found, f) {
			t.Errorf("exceptions.yaml has a line that is no longer true: %s", f)
		}
	}
}

// readExceptions returns the reasons, by what the test says.
func readExceptions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("exceptions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	exceptions := map[string]string{}
	if err := yaml.UnmarshalStrict(text, &exceptions); err != nil {
		t.Fatal(err)
	}
	return exceptions
}

// crdFile has the definition of TrainingJob, below the folder deploy of a tree.
const crdFile = "crd/mlplatform.example.com_trainingjobs.yaml"

func readCRD(t *testing.T, tree string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree, "deploy", crdFile))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// policies are the validations of the admission policies, as name and expression.
type policies = sets.Set[string]

// readPolicies reads those that every installation has.
func readPolicies(t *testing.T, tree string) policies {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tree, "deploy/admission/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of policies: %v", len(files), err)
	}
	found := policies{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var policy struct {
				Kind     string
				Metadata struct{ Name string }
				Spec     struct {
					Validations []struct{ Expression string }
				}
			}
			if err := yaml.Unmarshal([]byte(document), &policy); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, v := range policy.Spec.Validations {
				found.Insert("policy " + policy.Metadata.Name + ": " + strings.Join(strings.Fields(v.Expression), " "))
			}
		}
	}
	return found
}

// policyFindings are new validations. One that is gone refuses less.
func policyFindings(former, this policies) (found []string) {
	for _, p := range sets.List(this.Difference(former)) {
		found = append(found, p+": is new")
	}
	return found
}

// nameFindings are names that users, agents and their programs know, and that are not there any more.
func nameFindings(former, this map[string]string) (found []string) {
	for _, value := range slices.Sorted(maps.Keys(former)) {
		if _, ok := this[value]; !ok {
			found = append(found, former[value]+" "+value+": is gone")
		}
	}
	return found
}

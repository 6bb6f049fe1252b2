package convert

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kinds of Kubeflow Trainer.
const (
	trainerGroup   = "trainer.kubeflow.org"
	trainerVersion = trainerGroup + "/v1alpha1"
	clusterRuntime = "ClusterTrainingRuntime"
	localRuntime   = "TrainingRuntime"
)

// Runtimes are the training runtimes of an input. A TrainJob is converted together with the one that it
// names.
type Runtimes struct {
	given []Document
	named map[runtimeName]bool
}

type runtimeName struct{ kind, name string }

func isRuntime(doc Document) bool {
	return doc.APIVersion == trainerVersion && (doc.Kind == clusterRuntime || doc.Kind == localRuntime)
}

// FindRuntimes collects the runtimes among all documents of all files of an input.
func FindRuntimes(docs []Document) Runtimes {
	r := Runtimes{named: map[runtimeName]bool{}}
	for _, doc := range docs {
		switch {
		case isRuntime(doc):
			r.given = append(r.given, doc)
		case doc.APIVersion == trainerVersion && doc.Kind == "TrainJob":
			spec, _ := doc.tree["spec"].(map[string]any)
			ref, _ := spec["runtimeRef"].(map[string]any)
			name := runtimeName{kind: clusterRuntime}
			if kind, is := ref["kind"].(string); is {
				name.kind = kind
			}
			name.name, _ = ref["name"].(string)
			r.named[name] = true
		}
	}
	return r
}

// runtimeDocument is what becomes of a runtime: nothing of its own.
func (c *conversion) runtimeDocument(doc Document) (Result, error) {
	if !c.options.Runtimes.named[runtimeName{doc.Kind, doc.Name}] {
		c.warn(nil, "no TrainJob of the input names this runtime, so nothing becomes of it")
	}
	return Result{Warnings: c.warnings}, nil
}

// find returns the runtime of a kind and name; false if the input has none. Two runtimes that differ, and of
// which neither is excluded by the namespace, are an error.
func (c *conversion) find(kind, name, namespace string, path *field.Path) (Document, bool) {
	var found []Document
	for _, doc := range c.options.Runtimes.given {
		if doc.Kind != kind || doc.Name != name {
			continue
		}
		metadata, _ := doc.tree["metadata"].(map[string]any)
		in, _ := metadata["namespace"].(string)
		if kind == localRuntime && in != "" && namespace != "" && in != namespace {
			continue
		}
		found = append(found, doc)
	}
	if len(found) == 0 {
		return Document{}, false
	}
	for _, other := range found[1:] {
		if !sameSpec(found[0], other) {
			c.fail(path, "the input has two different runtimes %s %s: remove one", kind, name)
			break
		}
	}
	return found[0], true
}

func sameSpec(a, b Document) bool {
	one, errA := json.Marshal(a.tree["spec"])
	two, errB := json.Marshal(b.tree["spec"])
	return errA == nil && errB == nil && bytes.Equal(one, two)
}

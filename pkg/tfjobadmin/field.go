package tfjobadmin

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fieldsOfJob says which field of a document a part of a TrainingJob's path is made from. The first that a
// path has counts.
var fieldsOfJob = []struct{ part, name string }{
	{"metadata.namespace", "spec.partition"},
	{"metadata.name", "metadata.name"},
	{"metadata.annotations", "spec.description"},
	{"spec.framework", "spec.runtime"},
	{"spec.checkpoint", "spec.checkpointDir"},
	{".resources", "spec.replicas"},
	{".workingDir", "spec.workdir"},
	{".command", "spec.bootfile"},
	{".args", "spec.args"},
	{".image", "spec.runtime"},
	{".env", "spec.enviroment"},
	{"spec.replicaSpecs", "spec.replicas"},
}

// changing are the fields of a document that change the ranks, the ones that a refusal is most likely about
// first.
var changing = []string{
	"spec.runtime", "spec.workdir", "spec.bootfile", "spec.args", "spec.enviroment", "spec.checkpointDir",
	"spec.eventDir", "spec.modelDir", "spec.logDir", "spec.replicas",
}

// FieldOf finds the field of the request that a refusal of the TrainingJob API is about, which names a path of
// the TrainingJob. A refusal of all replicaSpecs is about what the request changes of them.
func (r *Request) FieldOf(jobPath string) *field.Path {
	for _, f := range fieldsOfJob {
		if !strings.Contains(jobPath, f.part) {
			continue
		}
		if _, given := r.paths[f.name]; given && jobPath != "spec.replicaSpecs" {
			return r.At(f.name)
		}
		if i := slices.IndexFunc(changing, func(name string) bool {
			_, given := r.paths[name]
			return given
		}); i >= 0 && strings.HasPrefix(jobPath, "spec.replicaSpecs") {
			return r.At(changing[i])
		}
		return r.At(f.name)
	}
	if r.nested {
		return field.NewPath("spec")
	}
	return nil
}

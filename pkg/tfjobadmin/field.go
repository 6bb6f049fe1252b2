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

// FieldOf finds the field of the request that a refusal of the TrainingJob API is about, which names a path
// of the TrainingJob.
func (r *Request) FieldOf(jobPath string) *field.Path {
	for _, f := range fieldsOfJob {
		if strings.Contains(jobPath, f.part) {
			return r.At(f.name)
		}
	}
	if r.nested {
		return field.NewPath("spec")
	}
	return nil
}

// ChangeOf is FieldOf for a request that changes a job. A refusal of a whole role, or of a field that the
// request does not have, is about the first that it changes of the ranks.
func (r *Request) ChangeOf(jobPath string) *field.Path {
	if !strings.HasPrefix(jobPath, "spec.replicaSpecs") {
		return r.FieldOf(jobPath)
	}
	given := func(name string) bool { _, has := r.paths[name]; return has }
	for _, f := range fieldsOfJob {
		if strings.Contains(jobPath, f.part) && given(f.name) && jobPath != "spec.replicaSpecs" {
			return r.At(f.name)
		}
	}
	if i := slices.IndexFunc(changing, given); i >= 0 {
		return r.At(changing[i])
	}
	return r.FieldOf(jobPath)
}

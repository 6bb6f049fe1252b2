package convert

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// kueuePatches is the manager of the patches by which Kueue places the pods of an admitted TrainJob
// (pkg/controller/jobs/trainjob/trainjob_controller.go, Kueue v0.19.2).
const kueuePatches = "kueue.x-k8s.io/manager"

// findRuntime finds the runtime of the TrainJob in the input, else among Trainer's own.
func (t *trainJob) findRuntime(namespace string) bool {
	ref, path := t.from.RuntimeRef, field.NewPath("spec", "runtimeRef")
	kind := clusterRuntime
	if ref.Kind != nil {
		kind = *ref.Kind
	}
	switch {
	case ref.Name == "":
		t.fail(path.Child("name"), "names no runtime: add the name of a %s", clusterRuntime)
	case ref.APIGroup != nil && *ref.APIGroup != trainerGroup:
		t.fail(path.Child("apiGroup"), "%q is no group of runtimes: use %s", *ref.APIGroup, trainerGroup)
	case kind != clusterRuntime && kind != localRuntime:
		t.fail(path.Child("kind"), "%q is no kind of runtime: use %s or %s", kind, clusterRuntime, localRuntime)
	}
	if len(t.errors) > 0 {
		return false
	}
	t.path = field.NewPath(kind + " " + ref.Name + ": spec")
	doc, found := t.find(kind, ref.Name, namespace, path)
	if found {
		return t.readRuntime(doc) && len(t.errors) == 0
	}
	all := stockRuntimes()
	stock, known := all[ref.Name]
	if !known || kind != clusterRuntime {
		t.fail(path.Child("name"), "the input has no %s %s: add it with a second -f, from `kubectl get %s %s -o "+
			"yaml`. convert itself knows the ClusterTrainingRuntimes %s", kind, ref.Name, strings.ToLower(kind),
			ref.Name, strings.Join(sortedKeys(all), ", "))
		return false
	}
	t.runtime = stock
	for _, rj := range stock.Template.Spec.ReplicatedJobs {
		for _, c := range rj.Template.Spec.Template.Spec.Containers {
			if rj.Template.Labels[ancestorLabel] == ancestorTrainer {
				t.warn(path.Child("name"), "the runtime is not in the input: the one of Kubeflow Trainer %s is "+
					"used, with the image %s. If yours differs, add it with a second -f", stockVersion, c.Image)
			}
		}
	}
	return true
}

// readRuntime decodes a runtime. Its problems are those of the TrainJob.
func (t *trainJob) readRuntime(doc Document) bool {
	var own report
	from := decode[object[trainingRuntimeSpec]](&own, doc)
	name := doc.Kind + " " + doc.Name
	for _, p := range own.warnings {
		t.warn(field.NewPath(name+": "+p.Field), "%s", p.Message)
	}
	for _, p := range own.errors {
		t.fail(field.NewPath(name+": "+p.Field), "%s", p.Message)
	}
	if from == nil {
		return false
	}
	t.runtime = &from.Spec
	return true
}

// patch merges the patches of the TrainJob into its runtime (pkg/runtime/core/trainingruntime.go,
// mergeRuntimePatches).
func (t *trainJob) patch() bool {
	for i, p := range t.from.RuntimePatches {
		path := field.NewPath("spec", "runtimePatches").Index(i)
		if p.Manager == kueuePatches {
			t.warn(path, "is left out: Kueue wrote it when it admitted the TrainJob")
			continue
		}
		if p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil {
			continue
		}
		path = path.Child("trainingRuntimeSpec", "template")
		if m, to := p.TrainingRuntimeSpec.Template.Metadata, &t.runtime.Template.ObjectMeta; m != nil {
			to.Labels, to.Annotations = with(m.Labels, to.Labels), with(m.Annotations, to.Annotations)
		}
		if spec := p.TrainingRuntimeSpec.Template.Spec; spec != nil && !t.patchSpec(spec, path.Child("spec")) {
			return false
		}
	}
	return true
}

func (t *trainJob) patchSpec(patch map[string]any, path *field.Path) bool {
	to := &t.runtime.Template.Spec
	before := slices.Clone(to.ReplicatedJobs)
	merged, unknown, err := mergePatch(to, patch)
	if err != nil {
		t.fail(path, "%v", err)
		return false
	}
	for _, strict := range unknown {
		t.warn(path, "%v: it is left out", strict)
	}
	// A patch may put the replicated jobs in another order: that of the runtime is kept.
	position := func(name string) int {
		return slices.IndexFunc(before, func(rj replicatedJob) bool { return rj.Name == name })
	}
	for _, rj := range merged.ReplicatedJobs {
		i := position(rj.Name)
		if i < 0 {
			t.fail(path.Child("replicatedJobs").Key(rj.Name), "the runtime has no such replicated job: name one of it")
			return false
		}
		if name := newContainer(before[i], rj); name != "" {
			t.fail(path.Child("replicatedJobs").Key(rj.Name), "the runtime has no container %s there: name one of it",
				name)
			return false
		}
	}
	slices.SortStableFunc(merged.ReplicatedJobs, func(a, b replicatedJob) int {
		return position(a.Name) - position(b.Name)
	})
	*to = *merged
	return true
}

// mergePatch returns the specification with a patch, and the fields of the patch that are unknown.
func mergePatch(to *jobSetSpec, patch map[string]any) (into *jobSetSpec, unknown []error, err error) {
	original, err := json.Marshal(to)
	if err != nil {
		return nil, nil, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return nil, nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(original, change, jobSetSpec{})
	if err != nil {
		return nil, nil, err
	}
	into = &jobSetSpec{}
	unknown, err = kjson.UnmarshalStrict(merged, into)
	return into, unknown, err
}

// newContainer is the name of a container that a patch would add; empty if there is none.
func newContainer(before, after replicatedJob) string {
	containers := func(rj replicatedJob) []corev1.Container {
		pod := rj.Template.Spec.Template.Spec
		return slices.Concat(pod.InitContainers, pod.Containers)
	}
	for _, c := range containers(after) {
		if !slices.ContainsFunc(containers(before), func(own corev1.Container) bool { return own.Name == c.Name }) {
			return c.Name
		}
	}
	return ""
}

package convert

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// jobGroups are API groups whose objects start pods, in addition to those of Sources. Some of these objects
// have no container: a PipelineRun names a pipeline.
var jobGroups = []string{
	"argoproj.io", "flink.apache.org", "flow.volcano.sh", "flyte.lyft.com", "grove.io", "kaito.sh",
	"kubernetes.dask.org", "kubevirt.io", "leaderworkerset.x-k8s.io", "pipelines.kubeflow.org", rayGroup,
	"serving.kserve.io", "sparkoperator.k8s.io", "tekton.dev", "workload.codeflare.dev",
}

const rayGroup = "ray.io"

// remedyOfForeign is what the user can do about an object that is not passed through.
const remedyOfForeign = "remove it from the input, or write a TrainingJob in its place"

// passThrough returns an object that is not in Sources unchanged, with a warning. It fails for objects that
// run a job or containers, because `kubectl apply` would start them next to the TrainingJobs.
func (c *conversion) passThrough(doc Document) (Result, error) {
	kind := field.NewPath("kind")
	group, _, _ := strings.Cut(doc.APIVersion, "/")
	isSource := func(s Source) bool { return s.APIVersion != "" && strings.HasPrefix(s.APIVersion, group+"/") }
	switch {
	case doc.APIVersion == "" || doc.Kind == "":
		c.fail(kind, "the document has no apiVersion and kind, and no bootfile or runtime as "+
			"TFJob-admin's have: convert knows %s", kinds())
	case group == v1alpha1.GroupVersion.Group:
		c.warn(kind, "is a %s already: it is passed through as it is", doc.Kind)
	case group == rayGroup:
		c.fail(kind, "a %s is a Ray cluster with a driver, not a gang of ranks: leave it to KubeRay and remove it "+
			"from the input. With the label kueue.x-k8s.io/queue-name, Kueue queues it with the TrainingJobs",
			doc.Kind)
	case slices.Contains(jobGroups, group) || slices.ContainsFunc(Sources(), isSource):
		c.fail(kind, "%s %s cannot be converted, and kubectl apply could start it next to the TrainingJobs: %s. "+
			"convert knows %s", doc.APIVersion, doc.Kind, remedyOfForeign, kinds())
	default:
		if path := containersIn(doc.tree); path != nil {
			c.fail(path, "kubectl apply could start the containers of the %s next to the TrainingJobs: %s",
				doc.Kind, remedyOfForeign)
			break
		}
		c.warn(kind, "%s is no job of another system: it is passed through as it is", doc.Kind)
	}
	if len(c.errors) > 0 {
		return Result{}, c.errors
	}
	return Result{Objects: []runtime.Object{&unstructured.Unstructured{Object: doc.tree}},
		Warnings: c.warnings}, nil
}

// containersIn returns the path of the first list of containers in an object, at any depth but not in its
// status: a list of that name, or of objects with an image, such as steps. nil: it has none.
func containersIn(tree map[string]any) *field.Path {
	var find func(value any, path *field.Path) *field.Path
	find = func(value any, path *field.Path) *field.Path {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range sortedKeys(value) {
				if path == nil && key == "status" {
					continue
				}
				at := child(path, key)
				if list, is := value[key].([]any); is && (key == "containers" && slices.ContainsFunc(list, isObject) ||
					slices.ContainsFunc(list, hasImage)) {
					return at
				}
				if found := find(value[key], at); found != nil {
					return found
				}
			}
		case []any:
			for i, element := range value {
				if found := find(element, path.Index(i)); found != nil {
					return found
				}
			}
		}
		return nil
	}
	return find(tree, nil)
}

func isObject(value any) bool {
	_, is := value.(map[string]any)
	return is
}

func hasImage(value any) bool {
	object, _ := value.(map[string]any)
	image, is := object["image"].(string)
	return is && image != ""
}

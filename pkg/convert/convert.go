package convert

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

// Options of a conversion. The zero value is usable.
type Options struct {
	// Namespace of the results. Empty: the document's own.
	Namespace string
	// Image of the trainer where a document names none.
	Image string
	// Claim that holds the directories of a TFJob-admin job. Empty: a new one is written.
	Claim string
	// Name of the result. Empty: the document's own.
	Name string
	// Framework of jobs whose kind does not name one. Empty: the one that a command names.
	Framework v1alpha1.Framework
	// KeepSuspend keeps spec.suspend of jobs that Kueue suspends.
	KeepSuspend bool
	// Runtimes that TrainJobs can name, in addition to those of Kubeflow Trainer.
	Runtimes Runtimes
}

// Result is what becomes of one document.
type Result struct {
	// Objects to apply, in this order: companions, then the job.
	Objects []runtime.Object
	// Warnings in the order of their discovery.
	Warnings []Problem
}

// Source is a kind of job that can be converted.
type Source struct {
	// Name of the source: lower case, without spaces.
	Name string
	// APIVersion and Kind of its documents; empty for those that have neither.
	APIVersion, Kind string

	convert func(*conversion, Document) *v1alpha1.TrainingJob
}

// Sources lists every kind of job that can be converted.
func Sources() []Source {
	return []Source{
		{"ml-v1alpha1", "ml.example.com/v1alpha1", "TrainingJob", mlV1alpha1},
		{"ml-v1", "ml.example.com/v1", "TrainingJob", mlV1},
		{"tfjob-admin", "", "", tfjobAdmin},
		{slurmSource, "", "", slurmScript},
		{"pytorchjob", kubeflowV1, "PyTorchJob", pytorchJob},
		{"tfjob", kubeflowV1, "TFJob", tfJob},
		{"xgboostjob", kubeflowV1, "XGBoostJob", xgboostJob},
		{"mxjob", kubeflowV1, "MXJob", mxJob},
		{"jaxjob", kubeflowV1, "JAXJob", jaxJob},
		{"mpijob-v1", kubeflowV1, "MPIJob", mpiJobV1},
		{"mpijob-v2beta1", "kubeflow.org/v2beta1", "MPIJob", mpiJobV2beta1},
		{"volcano", "batch.volcano.sh/v1alpha1", "Job", volcanoJob},
		{"trainjob", trainerVersion, "TrainJob", trainJobOf},
		{"jobset", "jobset.x-k8s.io/v1alpha2", "JobSet", jobSetJob},
		{"job", "batch/v1", "Job", batchJob},
	}
}

// withFramework are the sources to which Options.Framework applies.
var withFramework = []string{"trainjob", "jobset", "job"}

// Validate reports an option that no conversion accepts.
func (o Options) Validate() error {
	if _, known := framework.Get(string(o.Framework)); o.Framework != "" && !known {
		return fmt.Errorf("unknown framework %q: use one of %s", o.Framework, strings.Join(framework.Names(), ", "))
	}
	return nil
}

// conversion of one document.
type conversion struct {
	report
	doc        Document
	options    Options
	companions []runtime.Object
}

// Convert makes a TrainingJob of a document. It fails with Errors if the document is not a job that it knows,
// if a field has a value that cannot be read, or if the TrainingJob API would refuse the result. An object
// that runs nothing, such as a ConfigMap, is returned as it is, with a warning. A training runtime becomes a
// part of the TrainJobs that name it: of its own it has no result.
func Convert(doc Document, options Options) (Result, error) {
	c := &conversion{doc: doc, options: options}
	if isRuntime(doc) {
		return c.runtimeDocument(doc)
	}
	source, known := sourceOf(doc)
	if !known {
		return c.passThrough(doc)
	}
	if c.options.Framework != "" && !slices.Contains(withFramework, source.Name) {
		c.warn(field.NewPath("kind"), "%s decides the framework: --framework %s has no effect", source.Name,
			c.options.Framework)
	}
	job := source.convert(c, doc)
	if job == nil || len(c.errors) > 0 {
		return Result{Warnings: c.warnings}, c.errors
	}
	job.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainingJob"}
	c.checkResult(job)
	if len(c.errors) > 0 {
		return Result{Warnings: c.warnings}, c.errors
	}
	return Result{Objects: append(c.companions, job), Warnings: c.warnings}, nil
}

func sourceOf(doc Document) (Source, bool) {
	withoutVersion := ""
	switch {
	case doc.script != "":
		withoutVersion = slurmSource
	case isTFJobAdmin(doc):
		withoutVersion = "tfjob-admin"
	}
	for _, s := range Sources() {
		if s.APIVersion == doc.APIVersion && s.Kind == doc.Kind && (s.APIVersion != "" ||
			s.Name == withoutVersion) {
			return s, true
		}
	}
	return Source{}, false
}

// kinds lists the kinds of Sources, with each API version once.
func kinds() string {
	var names []string
	last := ""
	for _, s := range Sources() {
		switch {
		case s.Kind == "":
		case s.APIVersion == last:
			names = append(names, s.Kind)
		default:
			last = s.APIVersion
			names = append(names, s.APIVersion+" "+s.Kind)
		}
	}
	return strings.Join(names, ", ")
}

// checkResult holds the job against the rules of the TrainingJob API.
func (c *conversion) checkResult(job *v1alpha1.TrainingJob) {
	for _, err := range validation.Validate(job) {
		c.fail(field.NewPath(err.Field), "the TrainingJob that it becomes is refused: %s", err.ErrorBody())
	}
}

// object is what documents of Kubernetes' kinds have in common.
type object[S any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              S `json:"spec"`
	// Status is what the other system has observed.
	Status map[string]any `json:"status"`
}

// read decodes a document of one of Kubernetes' kinds, and begins its job. Both are nil if that fails.
func read[S any](c *conversion, doc Document) (*S, *v1alpha1.TrainingJob) {
	from := decode[object[S]](&c.report, doc)
	if from == nil {
		return nil, nil
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: c.metadata(from.ObjectMeta)}
	if len(from.Status) > 0 {
		c.warn(field.NewPath("status"), "is what the other system has observed: it is left out")
	}
	return &from.Spec, job
}

// serverWritten annotations are copies of what the document says.
var serverWritten = []string{corev1.LastAppliedConfigAnnotation}

// metadata keeps what its author wrote: name, namespace, labels and annotations.
func (c *conversion) metadata(from metav1.ObjectMeta) metav1.ObjectMeta {
	path := field.NewPath("metadata")
	to := metav1.ObjectMeta{
		Name: from.Name, Namespace: from.Namespace, Labels: from.Labels, Annotations: from.Annotations,
	}
	if c.options.Namespace != "" {
		to.Namespace = c.options.Namespace
	}
	for _, key := range serverWritten {
		delete(to.Annotations, key)
	}
	if len(to.Annotations) == 0 {
		to.Annotations = nil
	}
	switch {
	case c.options.Name != "":
		to.Name = c.options.Name
	case from.Name != "":
	case from.GenerateName != "":
		to.Name = from.GenerateName + c.doc.suffix()
		c.warn(path.Child("generateName"), "becomes the name %s, which equal documents share: kubectl apply runs "+
			"them once", to.Name)
	default:
		c.fail(path.Child("name"), "the job needs a name, for its ranks have it too")
	}
	if len(from.OwnerReferences) > 0 {
		c.warn(path.Child("ownerReferences"), noCounterpart)
	}
	if len(from.Finalizers) > 0 {
		c.warn(path.Child("finalizers"), "belong to controllers of the other system: they are left out")
	}
	if from.UID != "" || from.ResourceVersion != "" || len(from.ManagedFields) > 0 {
		c.warn(path, "uid, resourceVersion and the like are the API server's: they are left out")
	}
	return to
}

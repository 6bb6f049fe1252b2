package tfjob

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

// fieldOwner of the server's writes.
const fieldOwner = client.FieldOwner("trainingjob-server")

// create creates a job from a document.
func (h *Handler) create(k *call) (any, error) {
	request, err := h.read(k)
	if err != nil {
		return nil, err
	}
	if request.ID != nil {
		k.warn(request.At("metadata.id").String() + " is read-only: the server ignores it")
	}
	job, problems := h.newJob(k, request)
	if len(problems) > 0 {
		return nil, invalid(problems)
	}
	if err := k.client.Create(k.Context(), job, fieldOwner); err != nil {
		return nil, h.refused(k, err, request.FieldOf)
	}
	return h.describer.Describe(job), nil
}

// newJob returns the TrainingJob of a document.
func (h *Handler) newJob(k *call, request *tfjobadmin.Request) (*v1alpha1.TrainingJob, tfjobadmin.Problems) {
	from := request.Apply(tfjobadmin.Spec{Partition: k.partition})
	problems := h.allowed(k, request, from)
	user := k.caller.Name
	if request.User != nil && *request.User != user {
		problems = append(problems, tfjobadmin.Problem{
			Field: request.At("metadata.uid").String(),
			Detail: fmt.Sprintf("is %q, but you are %q: it must be the user who creates the job",
				*request.User, user),
			Remedy: "remove it",
		})
	}
	runtime, unknown := h.runtimeNamed(request, from.Runtime)
	problems = append(problems, unknown...)
	name := ""
	if request.Name != nil {
		name = *request.Name
	}
	job, wrong := h.Config.setup(k.partition, runtime).Job(name, from, request.At)
	if problems = append(problems, wrong...); len(problems) > 0 {
		return nil, problems
	}
	tfjobadmin.Annotate(job, from, runtime)
	if user != "" {
		job.Annotations[h.UserKeys[0]] = user
	}
	return job, problemsOf(validation.Validate(job), request.FieldOf)
}

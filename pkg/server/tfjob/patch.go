package tfjob

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// patch changes only the fields of the document. The API server decides which of them the job accepts in its
// phase.
func (h *Handler) patch(k *call) (any, error) {
	request, err := h.read(k)
	if err != nil {
		return nil, err
	}
	var doc tfjobadmin.Document
	// The operator writes the status often, so conflicts are normal.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		job, err := h.find(k)
		if err != nil {
			return err
		}
		if job == nil {
			return k.missing()
		}
		changed, err := h.changed(k, request, job)
		if err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(job, changed) {
			from := client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{})
			if err := k.client.Patch(k.Context(), changed, from, fieldOwner); err != nil {
				return err
			}
		}
		doc = h.describer.Describe(changed)
		return nil
	})
	if err == nil {
		return doc, nil
	}
	if p := (*problem.Problem)(nil); errors.As(err, &p) {
		return nil, p
	}
	return nil, h.refused(k, err, request.ChangeOf)
}

// changed returns the job with the changes of the request.
func (h *Handler) changed(
	k *call, request *tfjobadmin.Request, job *v1alpha1.TrainingJob,
) (*v1alpha1.TrainingJob, error) {
	if !tfjobadmin.Made(job) {
		return nil, problem.New(problem.Conflict,
			"the job was not created in this dialect, which cannot express all of it",
			"change it with kubectl, or with the API below /api/v1").About("path.id")
	}
	doc := h.describer.Describe(job)
	from := request.Apply(doc.Spec)
	problems := slices.Concat(sameJob(request, doc.Metadata), h.allowed(k, request, from))
	old, runtime := h.runtimesOf(job, request)
	if runtime.Name == "" {
		_, unknown := h.runtimeNamed(request, from.Runtime)
		problems = append(problems, unknown...)
	}
	was, _ := h.setupOf(job, k.partition, old).Job(job.Name, doc.Spec, request.At)
	is, wrong := h.setupOf(job, k.partition, runtime).Job(job.Name, from, request.At)
	if problems = append(problems, wrong...); len(problems) > 0 {
		return nil, invalid(problems)
	}
	tfjobadmin.Annotate(was, doc.Spec, old)
	tfjobadmin.Annotate(is, from, runtime)
	changed, err := tfjobadmin.Merge(job, was, is)
	if err != nil {
		return nil, problem.New(problem.Internal, "the job cannot be changed here",
			"change it with kubectl, and report this to an admin").CausedBy(err)
	}
	return changed, nil
}

// sameJob rejects a document that names another job.
func sameJob(request *tfjobadmin.Request, is tfjobadmin.Metadata) tfjobadmin.Problems {
	var problems tfjobadmin.Problems
	for _, m := range []struct {
		name  string
		given *string
		is    string
	}{
		{"metadata.name", request.Name, is.Name}, {"metadata.id", request.ID, is.ID},
		{"metadata.uid", request.User, is.UID},
	} {
		if m.given != nil && *m.given != m.is {
			problems = append(problems, tfjobadmin.Problem{
				Field:  request.At(m.name).String(),
				Detail: fmt.Sprintf("is %q, and cannot change from %q", *m.given, m.is),
				Remedy: "remove it, or create a new job",
			})
		}
	}
	return problems
}

// runtimesOf returns the runtimes of a job before and after a request. If the request names no other runtime,
// both are the configured one, so the job keeps an image that an admin has replaced since; if that is no
// longer configured, both are derived from the job. The second has no name if the request names an unknown
// runtime.
func (h *Handler) runtimesOf(
	job *v1alpha1.TrainingJob, request *tfjobadmin.Request,
) (was, is tfjobadmin.Runtime) {
	own := tfjobadmin.Own(job).Runtime
	if request.Runtime != nil && runtimeKey(*request.Runtime) != runtimeKey(own.Name) {
		is, _ = h.Config.runtime(*request.Runtime)
		return own, is
	}
	if configured, known := h.Config.runtime(own.Name); known {
		configured.Name = own.Name
		configured.Dirs = slices.Concat(configured.Dirs, own.Dirs)
		return configured, configured
	}
	return own, own
}

// setupOf returns the configuration of the job's partition with the mounts that the job already has.
func (h *Handler) setupOf(
	job *v1alpha1.TrainingJob, partition string, runtime tfjobadmin.Runtime,
) tfjobadmin.Setup {
	setup, own := h.Config.setup(partition, runtime), tfjobadmin.Own(job)
	setup.Queue = own.Queue
	configured := setup.Mounts
	setup.Mounts = own.Mounts
	for _, m := range configured {
		if !slices.ContainsFunc(own.Mounts, func(of tfjobadmin.Mount) bool { return of.Path == m.Path }) {
			setup.Mounts = append(setup.Mounts, m)
		}
	}
	return setup
}

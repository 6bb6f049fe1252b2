package kueue

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// maxPodSets is the limit of a Workload's CRD.
const maxPodSets = 18

// Validate implements scheduler.Backend. It cannot check whether the queue, its flavors and the priority
// class exist.
func (b Backend) Validate(g scheduler.Gang) field.ErrorList {
	var errs field.ErrorList
	if g.Queue != "" || !b.manageAll {
		errs = validateQueue(g)
	}
	if g.MinResourcesGiven {
		errs = append(errs, field.Forbidden(field.NewPath(scheduler.PathMinResources),
			"Kueue charges the quota with the pods' own requests: remove minResources, or use scheduler "+
				"volcano"))
	}
	errs = append(errs, validateMinimum(g)...)
	if value, set := g.JobLabels[MaxExecTimeLabel]; set && maxExecutionTime(g) == nil {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "labels").Key(MaxExecTimeLabel), value,
			"must be a number of seconds above 0: set one, or remove the label"))
	}
	errs = append(errs, validateTopology(g)...)
	if b.binder != nil && !g.Dispatched {
		errs = append(errs, b.binder.Validate(withoutMinResources(forBinder(g)))...)
	}
	return errs
}

func withoutMinResources(g scheduler.Gang) scheduler.Gang {
	g.MinResourcesGiven = false // already refused
	return g
}

// validateQueue requires the queue as a label of the job too. Otherwise Kueue's pod integration, on by
// default, treats each rank as a job of its own if the namespace has a LocalQueue "default" or
// manageJobsWithoutQueueName is set. It then gates the pods and charges them to a quota a second time. It
// ignores only pods whose owner has the label and is of a kind in integrations.externalFrameworks
// (pkg/controller/jobs/pod/pod_webhook.go, Default; jobframework, FindAncestorJobManagedByKueue). The
// operator cannot see which of these apply.
func validateQueue(g scheduler.Gang) field.ErrorList {
	path := field.NewPath("metadata", "labels").Key(QueueLabel)
	label := g.JobLabels[QueueLabel]
	switch {
	case g.Queue == "":
		return field.ErrorList{field.Required(field.NewPath(scheduler.PathQueue), fmt.Sprintf(
			"Kueue admits jobs only through a LocalQueue: set the job's label %s to one that `kubectl get "+
				"localqueues.kueue.x-k8s.io` lists, or use another scheduler", QueueLabel))}
	case len(validation.IsDNS1123Subdomain(g.Queue)) > 0 || len(validation.IsValidLabelValue(g.Queue)) > 0:
		return field.ErrorList{field.Invalid(field.NewPath(scheduler.PathQueue), g.Queue,
			"no LocalQueue can have this name: use the name of one that `kubectl get "+
				"localqueues.kueue.x-k8s.io` lists")}
	case label != g.Queue:
		return field.ErrorList{field.Invalid(path, label, fmt.Sprintf(
			"Kueue reads a job's queue from this label, and without it treats each rank as a job of its "+
				"own: set it to %q, with or instead of schedulingPolicy.queue", g.Queue))}
	}
	return nil
}

// validateMinimum refuses a minAvailable, or a number of roles, that pod sets cannot express.
func validateMinimum(g scheduler.Gang) field.ErrorList {
	path := field.NewPath(scheduler.PathMinAvailable)
	var short []string
	sets := 0
	for _, r := range g.Roles {
		if r.Replicas == 0 {
			continue
		}
		sets++
		if r.MinAvailable >= r.Replicas {
			continue
		}
		short = append(short, r.Name)
		if r.MinAvailable < 1 {
			return field.ErrorList{field.Invalid(path, g.MinAvailable, fmt.Sprintf(
				"Kueue admits no gang without any %s: set it to %d (all ranks), or use scheduler "+
					"volcano", r.Name, g.Ranks()))}
		}
	}
	if len(short) > 1 {
		return field.ErrorList{field.Invalid(path, g.MinAvailable, fmt.Sprintf(
			"Kueue can leave out ranks of one role only, and this leaves out some of %s: set it to %d "+
				"(all ranks), or use scheduler volcano",
			strings.Join(short, " and "), g.Ranks()))}
	}
	if sets > maxPodSets {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "replicaSpecs"), fmt.Sprintf(
			"Kueue supports at most %d roles of a job and these are %d: use fewer", maxPodSets, sets))}
	}
	return nil
}

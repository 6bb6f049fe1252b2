package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// This file is where what several sources say meets the TrainingJob API.

// Defaults of MPIJob.
const (
	rootSSH      = "/root/.ssh"
	defaultSlots = 1
)

// mpi returns spec.mpi of a job.
func mpi(job *v1alpha1.TrainingJob) *v1alpha1.MPISpec {
	if job.Spec.MPI == nil {
		job.Spec.MPI = &v1alpha1.MPISpec{}
	}
	return job.Spec.MPI
}

// gangOfMPI takes out what mpirun cannot do without: all Workers, and the operator's sshd in each.
func (c *conversion) gangOfMPI(job *v1alpha1.TrainingJob, minimum *field.Path) {
	policy := &job.Spec.RunPolicy.SchedulingPolicy
	if m := policy.MinAvailable; m != nil && *m != spec.Ranks(job) {
		c.warn(minimum, "%d "+noCounterpart+": mpirun starts on all Workers or not at all", *m)
		policy.MinAvailable = nil
	}
}

// withoutSSHD takes the command out by which a Worker runs an sshd of the image's own configuration: without
// a command, it runs one that knows the job's keys.
func (c *conversion) withoutSSHD(trainer *corev1.Container, path *field.Path) {
	if trainer == nil || !runs(slices.Concat(trainer.Command, trainer.Args), "sshd") {
		return
	}
	c.warn(path, "the command of a Worker that runs sshd is left out: the operator runs sshd there, with the "+
		"job's own keys")
	trainer.Command, trainer.Args = nil, nil
}

// withoutReserved takes out the variables by which the operator tells each rank who it is.
func (c *conversion) withoutReserved(job *v1alpha1.TrainingJob, pod *corev1.PodSpec, path *field.Path) {
	f, _ := framework.Get(string(job.Spec.Framework))
	reserved := f.Reserved(job.Spec.ElasticPolicy != nil)
	for i := range pod.Containers {
		container := &pod.Containers[i]
		for j, e := range container.Env {
			if slices.Contains(reserved, e.Name) {
				c.warn(path.Child("containers").Index(i).Child("env").Index(j),
					"%s is left out: the operator sets it, for each rank of framework %s", e.Name, f.Name)
			}
		}
		container.Env = slices.DeleteFunc(container.Env, func(e corev1.EnvVar) bool {
			return slices.Contains(reserved, e.Name)
		})
	}
}

// frameworkVersion says which release of the framework the image holds, where the API can say so.
func (c *conversion) frameworkVersion(job *v1alpha1.TrainingJob, version string, path *field.Path) {
	if version == "" {
		return
	}
	if !strings.Contains(version, ".") {
		c.warn(path, "the version %s has no minor number: spec.frameworkVersion is left out", version)
		return
	}
	job.Spec.FrameworkVersion = version
}

// hyperparameter is the value of a hyperparameter: a text, a number or a boolean, as the document writes it.
func hyperparameter(value any) v1alpha1.HyperparameterValue {
	text, err := json.Marshal(value)
	if err != nil { // a document has no value that JSON has not
		return v1alpha1.TextHyperparameter(fmt.Sprint(value))
	}
	return v1alpha1.HyperparameterValue(text)
}

package framework

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Framework is what the operator knows about one training framework. The zero value, which stands for an
// unknown one, knows every role and gives its ranks nothing.
type Framework struct {
	// Name as in spec.framework.
	Name string
	// Summary lists the variables of every rank for docs/api.md, without a full stop.
	Summary string
	// Roles that the framework knows, as in spec.replicaSpecs and in the order of their ranks. Empty: any
	// role.
	Roles []string
	// Single are roles of which a job has one rank at most. A leader is one in any framework.
	Single []string
	// Needed are roles that a job of more than one rank must have.
	Needed []string
	// Elastic: the framework knows what to do with Gang.Elastic.
	Elastic bool
	// ContainerNames by which a template may mark its trainer, besides TrainerContainer.
	ContainerNames []string
	// PortNames by which the trainer's container may name the port that replaces DefaultPort, besides
	// PortName.
	PortNames []string
	// DefaultPort on which a rank listens for the others.
	DefaultPort int32
	// AllListen: every rank listens on its port; else only rank 0 does.
	AllListen bool
	// MinVersion is the first release, as major.minor, that reads what Env and Files say. Empty: any does, or
	// the framework has no versions.
	MinVersion string

	// Env returns the variables of one rank, in a fixed order. A variable that the user sets keeps the
	// user's value.
	Env func(Gang, Rank) []corev1.EnvVar
	// Files returns the files that every container of one rank finds in Gang.FilesDir: contents by name.
	// Names are plain file names; contents are text, at most 64 KiB (MaxFileBytes) in all, because
	// annotations of the pod carry them. Nil if the framework has no files, and then there is no FilesDir.
	Files func(Gang, Rank) map[string]string

	// reserved is what Reserved returns where the job is elastic and where not, once that is known.
	reserved map[bool][]string
}

// KnowsRole reports whether a job of the framework may have ranks of a role.
func (f Framework) KnowsRole(role string) bool {
	return len(f.Roles) == 0 || slices.Contains(f.Roles, role)
}

// SingleMessage tells a user what to change in a job with more than one rank of a role that is single.
func (f Framework) SingleMessage() string {
	return fmt.Sprintf("framework %s has one rank of each role %s: set its replicas to 1", f.Name,
		strings.Join(f.Single, ", "))
}

// NeededMessage tells a user what to change in a job of several ranks that lacks a needed role.
func (f Framework) NeededMessage() string {
	return fmt.Sprintf("framework %s needs the roles %s in a job of more than one rank: give them all in "+
		"spec.replicaSpecs", f.Name, enumerate(f.Needed))
}

// RolesMessage tells a user what to change in a job with a role that the framework does not know. Only a
// framework with Roles has one.
func (f Framework) RolesMessage() string {
	roles := "the role " + f.Roles[0]
	if len(f.Roles) > 1 {
		roles = "the roles " + enumerate(f.Roles)
	}
	return fmt.Sprintf("framework %s knows %s: rename or remove the others, or set spec.framework to custom",
		f.Name, roles)
}

// enumerate two names or more.
func enumerate(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// unbuffered makes Python write every line at once: else the last ones before a crash are not in the log
// (Python/initconfig.c, CPython 3.11).
func unbuffered() corev1.EnvVar { return corev1.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"} }

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
	// Summary says for docs/api.md what every rank gets: a sentence without its subject and its full stop.
	Summary string
	// Roles that the framework knows, as in spec.replicaSpecs and in the order of their ranks. Empty: any
	// role.
	Roles []string
	// ContainerNames by which a template may mark its trainer, besides TrainerContainer.
	ContainerNames []string
	// PortNames by which the trainer's container may name the port that replaces DefaultPort, besides
	// PortName.
	PortNames []string
	// DefaultPort on which a rank listens for the others.
	DefaultPort int32
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
}

// KnowsRole reports whether a job of the framework may have ranks of a role.
func (f Framework) KnowsRole(role string) bool {
	return len(f.Roles) == 0 || slices.Contains(f.Roles, role)
}

// RolesMessage tells a user what to change in a job with a role that the framework does not know. Only a
// framework with Roles has one.
func (f Framework) RolesMessage() string {
	roles := "the role " + f.Roles[0]
	if last := len(f.Roles) - 1; last > 0 {
		roles = "the roles " + strings.Join(f.Roles[:last], ", ") + " and " + f.Roles[last]
	}
	return fmt.Sprintf("framework %s knows %s: rename or remove the others, or set spec.framework to custom",
		f.Name, roles)
}

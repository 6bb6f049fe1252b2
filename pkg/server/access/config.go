package access

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config configures how the server acts for its callers.
type Config struct {
	// WideImpersonation lets the server act with the unconstrained right impersonate, which
	// deploy/server/rbac_wide.yaml grants. Clusters before Kubernetes 1.36 need it.
	WideImpersonation bool `json:"wideImpersonation"`
	// CallsPerSecond to each cluster for one caller, from 1 to 1000, with a burst of twice as many. Further
	// calls wait.
	CallsPerSecond int `json:"callsPerSecond"`
}

// maxCallsPerSecond limits the load of one caller on an API server.
const maxCallsPerSecond = 1000

// Default returns the default configuration.
func Default() Config { return Config{CallsPerSecond: 50} }

// Validate returns what is wrong with a configuration, by field below path.
func (c Config) Validate(path *field.Path) field.ErrorList {
	if c.CallsPerSecond < 1 || c.CallsPerSecond > maxCallsPerSecond {
		return field.ErrorList{field.Invalid(path.Child("callsPerSecond"), c.CallsPerSecond,
			"must be from 1 to 1000")}
	}
	return nil
}

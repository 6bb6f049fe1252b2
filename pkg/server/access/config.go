package access

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config is how the server acts for its callers.
type Config struct {
	// WideImpersonation has the server act although it may impersonate anybody for everything: the right
	// impersonate, which deploy/server/rbac_wide.yaml grants. Clusters without constrained impersonation, which
	// Kubernetes has since 1.36, need it. A server that has this right without being told so does not act.
	WideImpersonation bool `json:"wideImpersonation"`
	// CallsPerSecond that the server makes to each cluster for one caller, from 1 to 1000; others wait. Twice as
	// many may be made at once.
	CallsPerSecond int `json:"callsPerSecond"`
}

// maxCallsPerSecond bounds what one caller can do to an API server.
const maxCallsPerSecond = 1000

// Default is the configuration where nothing is said.
func Default() Config { return Config{CallsPerSecond: 50} }

// Validate returns what is wrong with a configuration, by field below path.
func (c Config) Validate(path *field.Path) field.ErrorList {
	if c.CallsPerSecond < 1 || c.CallsPerSecond > maxCallsPerSecond {
		return field.ErrorList{field.Invalid(path.Child("callsPerSecond"), c.CallsPerSecond,
			"must be from 1 to 1000")}
	}
	return nil
}

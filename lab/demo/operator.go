package demo

import (
	"fmt"
	"os"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// operatorName is the name of the operator's process.
const operatorName = "operator"

// operator is the operator that runs next to a cluster.
type operator struct{ process }

// newOperator returns an operator with its files in a folder.
func newOperator(folder, path string) operator { return operator{process{operatorName, folder, path}} }

// certificates of the report server.
func (o operator) certificates() string { return filepath.Join(o.folder, "reports") }

// configure writes the configuration. It has no leader election, because the successor of a killed operator
// would wait for the lease. With brokered the operator preempts gangs, by the annotations of examples/demo.
func (o operator) configure(scheduler string, brokered bool, healthAddress, reportAddress string) error {
	c := config.Default()
	c.LeaderElection.Enabled = false
	c.Metrics = config.Metrics{BindAddress: config.Off}
	c.Health.BindAddress = healthAddress
	c.DefaultScheduler = scheduler
	if brokered {
		c.Preemption.Mode = config.PreemptionBroker
	}
	// The local cluster serves it, and gangs that Kueue admits start whole.
	c.Schedulers.Kueue.Binder = config.BinderNative
	// The image is never pulled: the simulated trainers also act as the agent.
	c.Agent.Image = "registry.example.com/agent:1"
	c.Reports.BindAddress, c.Reports.URL = reportAddress, "https://"+reportAddress
	folder, err := filepath.Abs(o.certificates())
	if err != nil {
		return fmt.Errorf("finding the folder of certificates: %w", err)
	}
	c.Reports.CertificateDir = folder
	return o.process.configure(c)
}

// linkCertificates gives the report server links to the cluster's certificates, under the names that it
// expects, instead of another copy of a key.
func (o operator) linkCertificates(cert, key, authority string) error {
	if err := os.RemoveAll(o.certificates()); err != nil {
		return fmt.Errorf("removing the links to certificates: %w", err)
	}
	if err := os.MkdirAll(o.certificates(), 0o700); err != nil {
		return fmt.Errorf("making the folder of certificates: %w", err)
	}
	for name, target := range map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": authority} {
		target, err := filepath.Abs(target)
		if err != nil {
			return fmt.Errorf("finding %s: %w", name, err)
		}
		if err := os.Symlink(target, filepath.Join(o.certificates(), name)); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}

// Package layout says what a local cluster keeps on this machine: the files of its directory, with their
// certificates and kubeconfig, and its ports.
//
// Invariants:
//   - What Layout does not name is neither written nor removed.
//   - A port that is chosen stays free until its server listens.
package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Layout names every file of the cluster in the directory Dir, an absolute path.
type Layout struct{ Dir string }

func (l Layout) in(elements ...string) string {
	return filepath.Join(append([]string{l.Dir}, elements...)...)
}

// Lock marks the directory as a cluster's, and is held while a command changes the cluster.
func (l Layout) Lock() string { return l.in("localcluster.lock") }

// State is the state file. It is replaced by StateDraft.
func (l Layout) State() string { return l.in("state.json") }

// StateDraft becomes State once it is whole.
func (l Layout) StateDraft() string { return l.State() + ".tmp" }

// Kubeconfig is the administrator's.
func (l Layout) Kubeconfig() string { return l.in("kubeconfig") }

// EtcdData is etcd's folder.
func (l Layout) EtcdData() string { return l.in("etcd") }

// Logs is the folder of the processes' logs.
func (l Layout) Logs() string { return l.in("logs") }

// Log is the log of a process.
func (l Layout) Log(process string) string { return filepath.Join(l.Logs(), process+".log") }

// Audit is the API server's audit log.
func (l Layout) Audit() string { return l.in("audit.jsonl") }

// SchedulerConfiguration is the configuration of kube-scheduler, made from the one in lab/modules.
func (l Layout) SchedulerConfiguration() string { return l.in("kube-scheduler.yaml") }

// PluginsConfiguration is the configuration of scheduler-plugins, made from the one in lab/modules.
func (l Layout) PluginsConfiguration() string { return l.in("scheduler-plugins.yaml") }

// Volume holds what the simulated trainers have saved.
func (l Layout) Volume() string { return l.in("volume.json") }

// RealNode is the folder of the real node: its configuration, and what it writes.
func (l Layout) RealNode() string { return l.in("real-node") }

// PKI is the folder of certificates and keys.
func (l Layout) PKI() string { return l.in("pki") }

// CA is the certificate of the cluster's authority, whose key is never written down.
func (l Layout) CA() string { return filepath.Join(l.PKI(), "ca.crt") }

// ServerCert is the certificate of every server.
func (l Layout) ServerCert() string { return filepath.Join(l.PKI(), "server.crt") }

// ServerKey is the key of ServerCert.
func (l Layout) ServerKey() string { return filepath.Join(l.PKI(), "server.key") }

// AdminCert is the certificate of every client.
func (l Layout) AdminCert() string { return filepath.Join(l.PKI(), "admin.crt") }

// AdminKey is the key of AdminCert.
func (l Layout) AdminKey() string { return filepath.Join(l.PKI(), "admin.key") }

// AccountsKey signs service accounts' tokens.
func (l Layout) AccountsKey() string { return filepath.Join(l.PKI(), "service-accounts.key") }

// Kueue is the folder of Kueue's files.
func (l Layout) Kueue() string { return l.in("kueue") }

// KueueConfiguration is Kueue's configuration.
func (l Layout) KueueConfiguration() string { return filepath.Join(l.Kueue(), "configuration.yaml") }

// KueueEtc is the folder that Kueue sees as /etc.
func (l Layout) KueueEtc() string { return filepath.Join(l.Kueue(), "etc") }

// KueueCertificates is where Kueue looks for the certificate of its metrics: /etc/kueue/metrics/certs,
// whatever its configuration says (cmd/kueue/main.go).
func (l Layout) KueueCertificates() string {
	return filepath.Join(l.KueueEtc(), "kueue", "metrics", "certs")
}

// JobSet is the folder of JobSet's files.
func (l Layout) JobSet() string { return l.in("jobset") }

// JobSetConfiguration is JobSet's configuration.
func (l Layout) JobSetConfiguration() string { return filepath.Join(l.JobSet(), "configuration.yaml") }

// JobSetCertificates is the folder with JobSet's certificate.
func (l Layout) JobSetCertificates() string { return filepath.Join(l.JobSet(), "certificates") }

// Trainer is the folder of Kubeflow Trainer's files, temporary ones among them.
func (l Layout) Trainer() string { return l.in("trainer") }

// TrainerConfiguration is Trainer's configuration.
func (l Layout) TrainerConfiguration() string {
	return filepath.Join(l.Trainer(), "configuration.yaml")
}

// TrainerCertificates is where Trainer looks for its certificate: below the folder for temporary files.
func (l Layout) TrainerCertificates() string {
	return filepath.Join(l.Trainer(), "k8s-webhook-server", "serving-certs")
}

// Create makes the directory, or refuses one that holds other files than a cluster's.
func (l Layout) Create() error {
	entries, err := os.ReadDir(l.Dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading the cluster's directory: %w", err)
	}
	isLock := func(e os.DirEntry) bool { return e.Name() == filepath.Base(l.Lock()) }
	if len(entries) > 0 && !slices.ContainsFunc(entries, isLock) {
		return fmt.Errorf(
			"%s holds files that are not a local cluster's; name a directory that is empty or does not exist", l.Dir)
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return fmt.Errorf("creating the cluster's directory: %w", err)
	}
	return nil
}

// Clean removes what a cluster left behind, its logs only if asked to. The lock stays.
func (l Layout) Clean(logs bool) error {
	paths := []string{
		l.EtcdData(), l.PKI(), l.Kubeconfig(), l.Audit(), l.SchedulerConfiguration(), l.PluginsConfiguration(),
		l.Kueue(), l.JobSet(), l.Trainer(),
		l.Volume(), l.Volume() + ".tmp", l.RealNode(), l.State(), l.StateDraft(),
	}
	if logs {
		paths = append(paths, l.Logs())
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the cluster's files: %w", err)
		}
	}
	return nil
}

// Remove removes all of the cluster's files, and the directory if nothing else is in it.
func (l Layout) Remove() error {
	if err := l.Clean(true); err != nil {
		return err
	}
	if err := os.Remove(l.Lock()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing the lock: %w", err)
	}
	// It stays when the user keeps files of their own in it.
	_ = os.Remove(l.Dir)
	return nil
}

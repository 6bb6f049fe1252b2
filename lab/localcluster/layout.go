package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// layout names every file of a cluster's directory: what is not here, this
// package neither writes nor removes.
type layout struct{ dir string }

func (l layout) lock() string       { return filepath.Join(l.dir, "localcluster.lock") }
func (l layout) state() string      { return filepath.Join(l.dir, "state.json") }
func (l layout) stateDraft() string { return l.state() + ".tmp" }
func (l layout) kubeconfig() string { return filepath.Join(l.dir, "kubeconfig") }
func (l layout) etcdData() string   { return filepath.Join(l.dir, "etcd") }
func (l layout) logs() string       { return filepath.Join(l.dir, "logs") }
func (l layout) pki() string        { return filepath.Join(l.dir, "pki") }
func (l layout) audit() string      { return filepath.Join(l.dir, "audit.jsonl") }
func (l layout) kueue() string      { return filepath.Join(l.dir, "kueue") }

// plugins is the configuration of scheduler-plugins, made from ours.
func (l layout) plugins() string { return filepath.Join(l.dir, "scheduler-plugins.yaml") }

// volume is what the simulated trainers have saved.
func (l layout) volume() string { return filepath.Join(l.dir, "volume.json") }

func (l layout) log(process string) string { return filepath.Join(l.logs(), process+".log") }

// pkiFile is a file of the pki folder, such as "ca.crt".
func (l layout) pkiFile(name string) string { return filepath.Join(l.pki(), name) }

// create makes the directory, or refuses one that holds what is not ours.
func (l layout) create() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading the cluster's directory: %w", err)
	}
	ours := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == filepath.Base(l.lock()) })
	if len(entries) > 0 && !ours {
		return fmt.Errorf("%s holds files that are not a local cluster's; name a directory that is empty or does not exist", l.dir)
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("creating the cluster's directory: %w", err)
	}
	return nil
}

// clean removes what a cluster left behind; the logs only if asked to.
func (l layout) clean(logs bool) error {
	paths := []string{l.etcdData(), l.pki(), l.kubeconfig(), l.audit(), l.plugins(), l.kueue(), l.volume(), l.volume() + ".tmp", l.realNode(), l.state(), l.stateDraft()}
	if logs {
		paths = append(paths, l.logs())
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the cluster's files: %w", err)
		}
	}
	return nil
}

// remove removes everything of ours, and the directory if nothing else is in it.
func (l layout) remove() error {
	if err := l.clean(true); err != nil {
		return err
	}
	if err := os.Remove(l.lock()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing the lock: %w", err)
	}
	// Not ours to insist: the user may keep something of his own here.
	_ = os.Remove(l.dir)
	return nil
}

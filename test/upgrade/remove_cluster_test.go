//go:build cluster

package upgrade

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// bare is what the cluster has before an installation.
func (s *stage) bare() inventory {
	s.t.Helper()
	found, err := s.takeInventory(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// removeFromKueue is the heading in docs/quotas.md.
const removeFromKueue = "## Remove the operator"

// remove the operator with the commands that the documentation gives, and nothing else.
func (s *stage) remove(o *operator) {
	s.t.Helper()
	page, heading := "docs/install.md", "## Remove with kubectl"
	if s.scheduler == localcluster.SchedulerKueue {
		page, heading = "docs/quotas.md", removeFromKueue
	}
	for line := range strings.Lines(s.documented(page, heading, "```\n")) {
		if strings.Contains(line, "deploy/operator") && o.cmd.ProcessState == nil {
			s.stop(o) // the process takes the part of the Deployment's pods
		}
		s.shell(line)
	}
}

// documented is the block of a page that begins with the fence, below a heading.
func (s *stage) documented(page, heading, fence string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		s.t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), heading+"\n")
	_, block, fenced := strings.Cut(section, "\n"+fence)
	block, _, closed := strings.Cut(block, "```\n")
	if !found || !fenced || !closed {
		s.t.Fatalf("%s has no block of commands below %q", page, heading)
	}
	return block
}

// shell runs commands as an admin does, at the root of the tree.
func (s *stage) shell(commands string) {
	s.t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.Kubeconfig(),
		"PATH="+filepath.Dir(s.cluster.Kubectl())+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", commands, err, out)
	}
}

// outliving are the claims that are to outlive their jobs, of which there are some, and others that are not.
func (s *stage) outliving() []string {
	s.t.Helper()
	all, err := s.claims(s.t.Context(), false)
	if err != nil {
		s.t.Fatal(err)
	}
	kept, err := s.claims(s.t.Context(), true)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(kept) == 0 || len(kept) == len(all) {
		s.t.Errorf("of %d claims %d are to outlive their jobs", len(all), len(kept))
	}
	return kept
}

// claims are the checkpoints of all jobs, or of those alone that are to outlive their job.
func (s *stage) claims(ctx context.Context, outliving bool) ([]string, error) {
	list := &corev1.PersistentVolumeClaimList{}
	err := s.cluster.Client.List(ctx, list)
	var names []string
	for i := range list.Items {
		if !outliving || len(list.Items[i].OwnerReferences) == 0 {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, err
}

// byItself is what Kubernetes puts into every namespace.
var byItself = []string{"/kube-root-ca.crt", "/default"}

// leftNothing waits until the cluster has what it had before the installation, and beside it the claims that
// are to outlive their jobs, and their volumes.
func (s *stage) leftNothing(bare inventory, claims []string) {
	s.t.Helper()
	s.until("nothing is left of the operator", func(ctx context.Context) (string, error) {
		now, err := s.takeInventory(ctx)
		if err != nil {
			return "", err
		}
		var wrong []string
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if bare[key] == "" && !strings.HasPrefix(key, "persistentvolume") && !slices.ContainsFunc(byItself,
				func(suffix string) bool { return strings.HasSuffix(key, suffix) }) {
				wrong = append(wrong, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(bare)) {
			if now[key] == "" {
				wrong = append(wrong, key+" is gone")
			}
		}
		left, err := s.claims(ctx, false)
		if !slices.Equal(left, claims) {
			wrong = append(wrong, "claims "+strings.Join(left, " "))
		}
		return strings.Join(wrong, ", "), err
	})
}

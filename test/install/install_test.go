//go:build e2e

package install

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestInstall installs with kubectl, changes the leader, watches, goes over to Helm, and removes all.
func TestInstall(t *testing.T) {
	tree := quickRelease(t)
	a := newAdmin(t, tree)
	before := a.everything()

	a.kubectl("apply", "--server-side", "-k", a.overlay(tree))
	a.createCertificate()
	a.untilReady(tree)
	a.mayUse()
	a.mayScrape()
	bert := a.train("bert")
	a.undisturbed(bert, "a change of leader", a.deleteLeader)

	p := a.prometheus()
	a.shows(p, bert)
	a.firesForCareless(p)

	a.undisturbed(bert, "the change from kubectl to Helm", func() {
		a.install(tree, "--take-ownership", "--force-conflicts")
	})
	a.helm("test", v1alpha1.OperatorName, "--namespace", system)
	a.kubectl("delete", "clusterrolebinding", reader)
	a.remove(bert)
	a.nothingLeft(before)
}

// mayUse checks that editors of a namespace may use TrainingJobs there but not write their status, and that
// viewers may read them.
func (a *admin) mayUse() {
	a.kubectl("create", "rolebinding", "jane", "--clusterrole=edit", "--user=jane")
	a.kubectl("create", "rolebinding", "joe", "--clusterrole=view", "--user=joe")
	for _, q := range []struct {
		user, verb, resource string
		may                  bool
	}{
		{"jane", "create", "trainingjobs", true},
		{"jane", "patch", "trainingjobs/scale", true},
		{"jane", "patch", "trainingjobs/status", false},
		{"joe", "watch", "trainingjobs", true},
		{"joe", "create", "trainingjobs", false},
	} {
		want := "no"
		if q.may {
			want = "yes"
		}
		// A controller aggregates the roles after a moment.
		a.until(fmt.Sprintf("%s may %s %s: %s", q.user, q.verb, q.resource, want),
			func(ctx context.Context) (bool, string, error) {
				args := []string{"auth", "can-i", q.verb, q.resource, "--as", q.user}
				resource, sub, ok := strings.Cut(q.resource, "/")
				if ok {
					args = []string{"auth", "can-i", q.verb, resource, "--subresource", sub, "--as", q.user}
				}
				output, _ := a.command(ctx, args...).Output() // it exits with 1 if the answer is no
				return strings.TrimSpace(string(output)) == want, string(output), nil
			})
	}
	a.kubectl("delete", "rolebinding", "jane", "joe")
}

// deleteLeader deletes the pod of the leading operator and waits for another that leads.
func (a *admin) deleteLeader() {
	first := a.leader("")
	a.kubectl("-n", system, "delete", "pod", first, "--wait=false")
	a.leader(first)
}

// leader returns the holder of the lease, once it differs from the former one.
func (a *admin) leader(former string) (name string) {
	a.t.Helper()
	a.until("there is a leader after "+former, func(ctx context.Context) (bool, string, error) {
		leases := &coordinationv1.LeaseList{}
		if err := a.client.List(ctx, leases, client.InNamespace(system)); err != nil || len(leases.Items) != 1 {
			return false, fmt.Sprintf("%d leases", len(leases.Items)), err
		}
		if holder := leases.Items[0].Spec.HolderIdentity; holder != nil {
			name, _, _ = strings.Cut(*holder, "_")
		}
		return name != "" && name != former, name, nil
	})
	return name
}

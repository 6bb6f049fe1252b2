//go:build e2e

package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/prometheus"
)

// TestOperate installs the release of an earlier commit with Helm, watches, upgrades to that of the newest
// commit here, goes back, and upgrades again, while a gang trains. Both are what make release makes.
func TestOperate(t *testing.T) {
	former, tree := fullRelease(t, formerCommit(t), "v0.0.1"), fullRelease(t, "HEAD", "v0.0.2")
	a := newAdmin(t, former, tree)
	before := a.everything()

	a.kubectl("create", "namespace", system)
	a.kubectl("label", "namespace", system, "pod-security.kubernetes.io/enforce=restricted")
	a.createCertificate()
	a.install(former)
	a.mayScrape()
	bert := a.train("bert")
	p := a.prometheus()
	a.shows(p, bert)

	a.undisturbed(bert, "the upgrade", func() { a.install(tree) })
	a.helm("test", v1alpha1.OperatorName, "--namespace", system)
	a.shows(p, bert)
	a.firesForCareless(p)
	a.undisturbed(bert, "an operator that was away", func() { a.firesWhileAway(p, tree) })
	a.undisturbed(bert, "going back", func() {
		a.helm("rollback", v1alpha1.OperatorName, "--namespace", system, "--wait")
		a.untilReady(former)
	})
	a.shows(p, bert)
	a.undisturbed(bert, "the upgrade after it", func() { a.install(tree) })
	a.shows(p, bert)

	a.kubectl("delete", "clusterrolebinding", reader)
	a.remove(bert)
	a.nothingLeft(before)
}

// firesWhileAway stops the operator until an alert fires.
func (a *admin) firesWhileAway(p *prometheus.Server, r release) {
	a.t.Helper()
	const alert = "TrainingJobOperatorAway"
	a.alert(p, alert, prometheus.Inactive, patience)
	deployment := "deployment/" + v1alpha1.OperatorName
	a.kubectl("-n", system, "scale", deployment, "--replicas=0")
	// The rule waits for five minutes.
	a.alert(p, alert, prometheus.Firing, 5*time.Minute+patience)
	a.kubectl("-n", system, "scale", deployment, "--replicas=2")
	a.untilReady(r)
	a.alert(p, alert, prometheus.Inactive, patience)
}

// formerCommit is the one from which an upgrade must work.
func formerCommit(t *testing.T) string {
	t.Helper()
	commit, err := os.ReadFile(filepath.Join(repository, "test/upgrade/from"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(commit))
}

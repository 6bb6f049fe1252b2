package docs

import "slices"

// session plays the commands of a page.
type session struct {
	page string
	// sections are the headings whose commands it plays, as fragments name them. Default: the whole page.
	sections []string
	// on is the cluster that it needs.
	on clusterName
	// long leaves it to `make test-docs`.
	long bool
}

// clusterName names a cluster of the sessions: see clusters.
type clusterName string

const (
	// onVolcano has Volcano, Kubernetes' own gangs and scheduler-plugins; jobs are Volcano's by default.
	onVolcano clusterName = "volcano"
	// onKueue has Kueue, with Kubernetes' own gangs as its binder.
	onKueue clusterName = "kueue"
	// onDryRun has Volcano, and the operator plans preemptions.
	onDryRun clusterName = "dry run"
)

func (s session) key() string {
	key := s.page
	for _, section := range s.sections {
		key += "#" + section
	}
	return key
}

func (s session) plays(b block) bool {
	return s.page == b.page && (len(s.sections) == 0 || slices.Contains(s.sections, b.section))
}

// sessions in the order in which they are played. Those that remove what others need come last.
var sessions = []session{
	{page: "README.md", sections: []string{"submit-a-job"}, on: onVolcano},
	{page: "docs/first-job.md", on: onVolcano, long: true},
	{page: "docs/troubleshooting.md", on: onVolcano},
	{page: "docs/quotas.md", sections: []string{"volcano"}, on: onVolcano, long: true},
	{page: "docs/quotas.md", sections: []string{"scheduler-plugins"}, on: onVolcano, long: true},
	{page: "docs/quotas.md", sections: []string{"kubernetes-own-gangs"}, on: onVolcano, long: true},
	{page: "docs/quotas.md", sections: []string{"kueue"}, on: onKueue, long: true},
	{
		page: "docs/preemption.md", sections: []string{"give-jobs-a-priority", "example-a-preempted-gang"},
		on: onVolcano, long: true,
	},
	{page: "docs/preemption.md", sections: []string{"read-a-plan"}, on: onDryRun, long: true},
	{page: "docs/gitops.md", on: onVolcano, long: true},
	{page: "docs/migrate.md", on: onVolcano, long: true},
	{page: "docs/kubectl-tj.md", on: onVolcano, long: true},
	{page: "docs/schedulers.md", on: onVolcano, long: true},
	{page: "docs/security.md", on: onVolcano, long: true},
	{page: "docs/admission.md", on: onVolcano, long: true},
	{page: "examples/README.md", on: onVolcano, long: true},
	{page: "examples/quotas/kueue/README.md", on: onKueue, long: true},
	{page: "docs/quotas.md", sections: []string{"remove-the-operator"}, on: onKueue, long: true},
	{
		page: "docs/install.md", sections: []string{"install-with-helm", "remove-with-helm"}, on: onVolcano,
		long: true,
	},
}

// sessionFor a block; a session of the section comes before one of the whole page.
func sessionFor(b block) (session, bool) {
	var found []session
	for _, s := range sessions {
		if s.plays(b) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return session{}, false
	}
	return slices.MaxFunc(found, func(a, b session) int { return len(a.sections) - len(b.sections) }), true
}

// runElsewhere is a command that another test runs, in the file that has these words.
type runElsewhere struct{ page, command, file, words string }

func (e runElsewhere) key() string { return e.page + ": " + e.command }

// serverRemoval reads the commands of the page and runs them.
const serverRemoval = "removalOf(t, \"../../docs/server.md\")"

var elsewhere = []runElsewhere{
	{"README.md", "make demo", "test/demo/demo_cluster_test.go", `"demo", "--scheduler", scheduler, "--dir"`},
	{"README.md", "make release", "test/install/release_test.go", `"go", "run", "./cmd/release", what`},
	{"README.md", "kubectl apply --server-side -f dist/install.yaml", "test/install/install_test.go",
		`a.kubectl("apply", "--server-side", "-k", a.overlay(tree))`},
	{"docs/operate.md", "kubectl get trainingjobs", "test/docs/recovery_test.go",
		"kubectl get trainingjobs --all-namespaces --sort-by=.metadata.creationTimestamp"},
	{"docs/operate.md", "kubectl annotate trainingjobs", "test/docs/recovery_test.go",
		"kubectl annotate trainingjobs --all --all-namespaces --overwrite "},
	{"docs/install.md", "kubectl delete trainingjobs", removalTest, removeWithKubectl},
	{"docs/install.md", "kubectl delete -k deploy/operator", removalTest, removeWithKubectl},
	{"docs/install.md", "kubectl delete -f deploy/admission -f deploy/crd", removalTest, removeWithKubectl},
	{"docs/server.md", "kubectl get trainingjobs --all-namespaces", "cmd/server/cluster_test.go", serverRemoval},
	{"docs/server.md", "kubectl patch trainingjob", "cmd/server/cluster_test.go", serverRemoval},
	{"docs/install.md", "kubectl get trainingjobs -A -o json | kubectl replace -f -",
		"test/upgrade/scenario_cluster_test.go", `s.documented("docs/install.md", "### Plan for v1beta1"`},
	{"docs/rehearsal.md", "kubectl tj rehearse bert", "cmd/kubectl-tj/rehearse_test.go",
		`append([]string{"rehearse", "bert"}`},
	{"examples/demo/README.md", "kubectl apply -f examples/demo/", "test/demo/story_cluster_test.go",
		"func TestStory("},
}

const (
	removalTest = "test/upgrade/remove_cluster_test.go"
	// removeWithKubectl is how it reads the commands of that section.
	removeWithKubectl = `"docs/install.md", "## Remove with kubectl"`
)

// exception is a command that no test runs.
type exception struct{ page, command, reason string }

func (e exception) key() string { return e.page + ": " + e.command }

var exceptions = []exception{
	{"README.md", "make test", "it is what runs these tests"},
	{"docs/benchmarks.md", "make bench", "it takes an hour; bench/ tests its parts"},
	{"docs/install.md",
		"helm upgrade trainingjob-operator deploy/chart --install --namespace trainingjob-system --take-ownership",
		"its last words stand for the values of the reader; test/chart compares what both ways install"},
	{"docs/install.md", "kubectl patch crd trainingjobs.mlplatform.example.com --subresource=status",
		"there is no v1beta1 yet; an API server refuses a stored version that the CRD has not"},
	{"docs/operate.md", "etcdutl", "the lab builds no etcdutl; recovery_test.go restores a cold copy"},
	{"examples/demo/README.md", "kubectl get tj -w", "it has no end; the demo watches in its place"},
}

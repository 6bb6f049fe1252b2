package jobmetrics

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// values returns the series of a job, keyed by name and the labels after the job's own.
func values(j *v1alpha1.TrainingJob) map[string]float64 {
	all := map[string]float64{}
	for _, s := range seriesOf(j, nil) {
		all[strings.Join(append([]string{s.name}, s.labels[2:]...), " ")] = s.value
	}
	return all
}

// TestEveryPhaseIsSummed: each phase of the API has a sum.
func TestEveryPhaseIsSummed(t *testing.T) {
	const crd = "../../deploy/crd/mlplatform.example.com_trainingjobs.yaml"
	data, err := os.ReadFile(crd)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, definition); err != nil {
		t.Fatal(err)
	}
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	var want []v1alpha1.Phase
	for _, value := range schema.Properties["status"].Properties["phase"].Enum {
		want = append(want, v1alpha1.Phase(strings.Trim(string(value.Raw), `"`)))
	}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("(-CRD +summed):\n%s", diff)
	}
}

// TestForeignText: text of a trainer or user fails no scrape, and becomes neither a number nor a known
// reason.
func TestForeignText(t *testing.T) {
	for text, finite := range map[string]bool{
		"0.5": true, "1e-3": true, "-7": true, "NaN": false, "inf": false, "-Inf": false, "1e400": false,
		"diverged": false, "": false, "1,5": false,
	} {
		j := running()
		j.Status.Progress.Metrics = map[string]string{"loss": text, "loss\n}": "1"}
		j.Status.Progress.Epoch = text
		got := values(&j)
		_, loss := got[nameLoss]
		_, epoch := got[nameCurrentEpoch]
		if loss != finite || epoch != finite {
			t.Errorf("%q: loss %t, epoch %t", text, loss, epoch)
		}
	}
	j := queued("bert", strings.Repeat("Reason", 100))
	j.Status.Scheduling.Queue = "q\xff" + strings.Repeat("ü", 500)
	if _, other := values(&j)[nameBlocked+" Other"]; !other {
		t.Errorf("got %v", values(&j))
	}
	if text := scrape(t, NewJobs(options(&cached{jobs: []v1alpha1.TrainingJob{j}}))); len(text) > 4000 {
		t.Errorf("%d bytes for one job", len(text))
	}
}

func TestStepDuration(t *testing.T) {
	j := running()
	if got := values(&j)[nameStepDuration]; got != 2 { // 600 s for 300 steps
		t.Errorf("got %v", got)
	}
	j.Status.Progress.Step = 400
	if got, known := values(&j)[nameStepDuration]; known {
		t.Errorf("no step is left, got %v", got)
	}
}

// TestLimitKeepsUnfinishedAndYoungJobs: the limit keeps these first and counts the others.
func TestLimitKeepsUnfinishedAndYoungJobs(t *testing.T) {
	var jobs []v1alpha1.TrainingJob
	for i := range 4 {
		for phase, name := range map[v1alpha1.Phase]string{
			v1alpha1.PhaseQueued: "queued", v1alpha1.PhaseFailed: "failed",
		} {
			j := job(fmt.Sprint(name, "-", i), phase, i)
			j.CreationTimestamp = at(i)
			jobs = append(jobs, j)
		}
	}
	for limit, want := range map[int][]string{
		2: {"queued-3", "queued-2"},
		5: {"queued-3", "queued-2", "queued-1", "queued-0", "failed-3"},
		9: {"queued-3", "queued-2", "queued-1", "queued-0", "failed-3", "failed-2", "failed-1", "failed-0"},
	} {
		o := options(nil)
		o.Limit = limit
		var got []string
		leftOut := -1.0
		for _, s := range jobSeries(o, pointers(jobs)) {
			switch s.name {
			case nameState:
				got = append(got, s.labels[1])
			case nameJobsLeftOut:
				leftOut = s.value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || int(leftOut) != len(jobs)-len(want) {
			t.Errorf("limit %d leaves %v out (-want +got):\n%s", limit, leftOut, diff)
		}
	}
}

func pointers(jobs []v1alpha1.TrainingJob) []*v1alpha1.TrainingJob {
	list := make([]*v1alpha1.TrainingJob, len(jobs))
	for i := range jobs {
		list[i] = &jobs[i]
	}
	return list
}

// TestRanks: each rank that holds a node has a series with its pod, up to the limit.
func TestRanks(t *testing.T) {
	starting := job("gang", v1alpha1.PhaseStarting, 0)
	starting.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{
		v1alpha1.RoleWorker: {Replicas: 3}, v1alpha1.RoleMaster: {Replicas: 1},
	}
	waits, elsewhere := queued("waits", v1alpha1.ReasonQuotaExceeded), running()
	elsewhere.Spec.ManagedBy = v1alpha1.ManagedByMultiKueue
	jobs := pointers([]v1alpha1.TrainingJob{starting, waits, elsewhere})
	all := []string{
		"gang master-0 gang-master-0", "gang worker-0 gang-worker-0", "gang worker-1 gang-worker-1",
		"gang worker-2 gang-worker-2",
	}
	for limit, want := range map[int]int{0: 0, 2: 2, 4: 4, 100: 4} {
		list, leftOut := rankSeries(jobs, limit)
		var got []string
		for _, s := range list {
			got = append(got, strings.Join(s.labels[1:], " "))
		}
		if !slices.Equal(got, all[:want]) || leftOut != len(all)-want {
			t.Errorf("limit %d: got %v, and %d left out", limit, got, leftOut)
		}
	}
}

// BenchmarkScrape scrapes a thousand jobs.
func BenchmarkScrape(b *testing.B) {
	jobs := make([]v1alpha1.TrainingJob, 1000)
	for i := range jobs {
		jobs[i] = running()
		jobs[i].Name = fmt.Sprint("job-", i)
	}
	list := pointers(jobs)
	for b.Loop() {
		jobSeries(Options{Limit: len(jobs), RankLimit: 10 * len(jobs)}, list)
	}
}

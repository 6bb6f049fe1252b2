package spec

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// TestRevision checks which changes of a job end its attempt.
func TestRevision(t *testing.T) {
	base := Revision(jobtest.New(2))
	type run = v1alpha1.RunPolicy
	policy := func(edit func(*run)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { edit(&j.Spec.RunPolicy) }
	}
	cases := map[string]struct {
		edit    func(*v1alpha1.TrainingJob)
		changes bool
	}{
		"replicas":         {func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = new(int32(3)) }, true},
		"image":            {func(j *v1alpha1.TrainingJob) { j.Spec.Image = "bert:2" }, true},
		"minAvailable":     {policy(func(p *run) { p.SchedulingPolicy.MinAvailable = new(int32(1)) }), true},
		"suspend":          {policy(func(p *run) { p.Suspend = new(true) }), false},
		"backoffLimit":     {func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = new(int32(9)) }, false},
		"deadline":         {policy(func(p *run) { p.ActiveDeadlineSeconds = new(int64(9)) }), false},
		"time to live":     {policy(func(p *run) { p.TTLSecondsAfterFinished = new(int32(9)) }), false},
		"clean pod policy": {policy(func(p *run) { p.CleanPodPolicy = v1alpha1.CleanPodAll }), false},
		"liveness":         {policy(func(p *run) { p.Liveness = &v1alpha1.LivenessPolicy{Mode: "Warn"} }), false},
		"a rehearsal": {func(j *v1alpha1.TrainingJob) {
			j.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{}
		}, false},
		"success policy": {func(j *v1alpha1.TrainingJob) { j.Spec.SuccessPolicy = "Leader" }, false},
		"shared memory": {func(j *v1alpha1.TrainingJob) {
			j.Spec.SharedMemory = resource.NewQuantity(1, resource.BinarySI)
		}, true},
		"a label": {func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{"team": "a"} }, false},
	}
	for name, c := range cases {
		if got := Revision(jobtest.New(2, c.edit)) != base; got != c.changes {
			t.Errorf("%s: a new revision %t, want %t", name, got, c.changes)
		}
	}
}

// TestRevisionOfCheckpoints: the checkpoints' interval and number may change while the gang runs.
func TestRevisionOfCheckpoints(t *testing.T) {
	base, off := jobtest.New(2, jobtest.Checkpoints), jobtest.New(2)
	edited := base.DeepCopy()
	edited.Spec.Checkpoint.Interval, edited.Spec.Checkpoint.KeepLast = new(int32(60)), new(int32(9))
	if Revision(base) != Revision(edited) {
		t.Error("an edit of interval and keepLast ends the attempt")
	}
	if edited.Spec.Checkpoint.Interval == nil {
		t.Error("the job was changed")
	}
	if FormerRevision(base) == FormerRevision(edited) {
		t.Error("the former hash does not depend on interval and keepLast")
	}
	moved := base.DeepCopy()
	moved.Spec.Checkpoint.Path = "/elsewhere"
	if Revision(base) == Revision(moved) || Revision(base) == Revision(off) {
		t.Error("another place, or none, goes unnoticed")
	}
}

// TestDecides: who must exit 0 for the job to succeed.
func TestDecides(t *testing.T) {
	const (
		master, worker = v1alpha1.RoleMaster, v1alpha1.RoleWorker
		ps, evaluator  = v1alpha1.RolePS, v1alpha1.RoleEvaluator
	)
	for name, c := range map[string]struct {
		policy v1alpha1.SuccessPolicy
		roles  []v1alpha1.Role
		want   []RankRef
	}{
		"a leader":            {"", []v1alpha1.Role{master, worker}, []RankRef{{master, 0}}},
		"the leader, by name": {v1alpha1.SuccessLeader, []v1alpha1.Role{master, worker}, []RankRef{{master, 0}}},
		"all Workers and their leader": {v1alpha1.SuccessAllWorkers, []v1alpha1.Role{master, worker},
			[]RankRef{{master, 0}, {worker, 0}, {worker, 1}}},
		"no leader":              {"", []v1alpha1.Role{ps, worker}, []RankRef{{worker, 0}, {worker, 1}}},
		"the first Worker leads": {v1alpha1.SuccessLeader, []v1alpha1.Role{ps, worker}, []RankRef{{worker, 0}}},
		"an Evaluator never does": {v1alpha1.SuccessAllWorkers, []v1alpha1.Role{worker, evaluator},
			[]RankRef{{worker, 0}, {worker, 1}}},
	} {
		var roles []Role
		for _, r := range c.roles {
			roles = append(roles, Role{Name: r, Replicas: 2})
		}
		if c.roles[0] == master {
			roles[0].Replicas = 1
		}
		decides := Decides(c.policy, roles, false)
		var got []RankRef
		for _, r := range roles {
			for i := range r.Replicas {
				if ref := (RankRef{r.Name, i}); decides(ref) {
					got = append(got, ref)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestChooseScheduler(t *testing.T) {
	recorded := func(phase v1alpha1.Phase) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Status.Phase, j.Status.Scheduling = phase, &v1alpha1.SchedulingStatus{Scheduler: "native"}
		}
	}
	inSpec := func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.Scheduler = "volcano" }
	labelled := func(j *v1alpha1.TrainingJob) {
		j.Labels = map[string]string{v1alpha1.LabelKueueQueue: "research"}
	}
	running, suspended := recorded(v1alpha1.PhaseRunning), recorded(v1alpha1.PhaseSuspended)
	cases := map[string]struct {
		job       *v1alpha1.TrainingJob
		byConfig  string
		available []string
		want      string
	}{
		"what the cluster serves":         {jobtest.New(1), "", []string{"native", "volcano"}, "native"},
		"the configuration before it":     {jobtest.New(1), "volcano", []string{"native"}, "volcano"},
		"the job before both":             {jobtest.New(1, inSpec), "native", []string{"native"}, "volcano"},
		"a running job keeps what it has": {jobtest.New(1, inSpec, running), "volcano", nil, "native"},
		"a suspended job may change":      {jobtest.New(1, inSpec, suspended), "", nil, "volcano"},
		"none":                            {jobtest.New(1), "", nil, ""},
		"a queue of Kueue before the configuration": {
			jobtest.New(1, labelled), "volcano", []string{"volcano", "kueue"}, "kueue",
		},
		"a queue's label without Kueue": {jobtest.New(1, labelled), "", []string{"volcano"}, "volcano"},
	}
	for name, c := range cases {
		if got := ChooseScheduler(c.job, c.byConfig, c.available); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRolesThatDecide: who decides the job's success, and who speaks for the training.
func TestRolesThatDecide(t *testing.T) {
	type ranks = map[v1alpha1.Role]int32
	elastic := func(j *v1alpha1.TrainingJob) { j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 2} }
	cases := map[string]struct {
		job      *v1alpha1.TrainingJob
		decide   string
		reporter string
		number   int32
	}{
		"workers": {jobtest.New(2), "bert-worker-0 bert-worker-1", "bert-worker-0", 0},
		"elastic": {jobtest.New(3, elastic), "bert-worker-0", "bert-worker-0", 0},
		"a chief and servers": {
			jobtest.New(0, jobtest.RolesOf("tensorflow", ranks{"Chief": 1, "PS": 2, "Worker": 2, "Evaluator": 1})),
			"bert-chief-0", "bert-chief-0", 0,
		},
		"servers without a chief": {
			jobtest.New(0, jobtest.RolesOf("tensorflow", ranks{"PS": 2, "Worker": 2, "Evaluator": 1})),
			"bert-worker-0 bert-worker-1", "bert-worker-0", 2,
		},
		"a scheduler and servers": {
			jobtest.New(0, jobtest.RolesOf("mxnet", ranks{"Scheduler": 1, "Server": 3, "Worker": 1})),
			"bert-worker-0", "bert-worker-0", 4,
		},
	}
	for name, c := range cases {
		roles := Roles(c.job)
		decides, names := Decides(c.job.Spec.SuccessPolicy, roles, Elastic(c.job)), []string{}
		for _, role := range roles {
			for i := range role.Replicas {
				if rank := (RankRef{role.Name, i}); decides(rank) {
					names = append(names, PodName(c.job.Name, rank))
				}
			}
		}
		if got := strings.Join(names, " "); got != c.decide {
			t.Errorf("%s: %s decide, want %s", name, got, c.decide)
		}
		ref, number := Reporter(roles)
		if got := PodName(c.job.Name, ref); got != c.reporter || number != c.number {
			t.Errorf("%s: %s, rank %d, reports, want %s, rank %d", name, got, number, c.reporter, c.number)
		}
	}
}

// TestElastic: what an elasticPolicy implies.
func TestElastic(t *testing.T) {
	elastic := func(j *v1alpha1.TrainingJob) { j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 2} }
	three := func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
	}
	if got := MinAvailable(jobtest.New(4, elastic)); got != 2 {
		t.Errorf("%d ranks start together, want minReplicas, 2", got)
	}
	if got := MinAvailable(jobtest.New(4, elastic, three)); got != 3 {
		t.Errorf("%d ranks start together, want minAvailable, 3", got)
	}
	if got := Scope(jobtest.New(4, elastic)); got != v1alpha1.ScopeRank {
		t.Errorf("scope %s, want Rank", got)
	}
}

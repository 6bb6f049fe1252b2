package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	modeOff  = v1alpha1.LivenessOff
	modeWarn = v1alpha1.LivenessWarn
	modeAct  = v1alpha1.LivenessAct
)

// warn makes a job name mode Warn itself.
func warn(j *v1alpha1.TrainingJob) { liveness(modeWarn)(j) }

func liveness(mode v1alpha1.LivenessMode) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Liveness = &v1alpha1.LivenessPolicy{Mode: mode} }
}

// beating is the pod of a rank by an operator whose default mode is Warn.
func beating(t *testing.T, job *v1alpha1.TrainingJob, rank spec.RankRef, attempt int32) *corev1.Pod {
	t.Helper()
	agent := fullAgent
	agent.Liveness, agent.MaxLiveness = modeWarn, modeWarn
	return renderedWith(t, agent, job, rank, attempt)
}

// TestLivenessOffChangesNothing: with effective mode Off every pod is the one that an operator without
// liveness renders, whichever of job and operator turns it off.
func TestLivenessOffChangesNothing(t *testing.T) {
	type operator struct{ mode, limit v1alpha1.LivenessMode }
	launcher := spec.RankRef{Role: v1alpha1.RoleLauncher}
	jobs := map[string]struct {
		replicas int32
		edit     func(*v1alpha1.TrainingJob)
		rank     spec.RankRef
	}{
		"simple":                   {4, func(*v1alpha1.TrainingJob) {}, worker(3)},
		"roles":                    {0, fullForm, worker(1)},
		"checkpoints, rank 0":      {4, onClaim, worker(0)},
		"checkpoints, rank 3":      {4, onClaim, worker(3)},
		"checkpoints, scope Rank":  {2, both(jobtest.Checkpoints, elastic), worker(1)},
		"checkpoints, in a bucket": {0, onObjectStore, worker(1)},
		"mpi":                      {0, overMPI, launcher},
		"mpi with checkpoints":     {0, both(overMPI, jobtest.Checkpoints), worker(0)},
	}
	for name, j := range jobs {
		plain := rendered(t, jobtest.New(j.replicas, j.edit), j.rank, 2)
		if Beats(plain) {
			t.Errorf("%s: sends beats without liveness", name)
		}
		for _, c := range []struct {
			job v1alpha1.LivenessMode
			operator
		}{
			{"", operator{modeOff, modeAct}}, {"", operator{modeAct, modeOff}}, {modeOff, operator{modeAct, modeAct}},
			{modeAct, operator{modeAct, modeOff}}, {modeWarn, operator{}},
		} {
			agent := fullAgent
			agent.Liveness, agent.MaxLiveness = c.mode, c.limit
			job := jobtest.New(j.replicas, j.edit, liveness(c.job))
			if diff := cmp.Diff(plain, renderedWith(t, agent, job, j.rank, 2)); diff != "" {
				t.Errorf("%s, mode %q under %+v (-without +with liveness):\n%s", name, c.job, c.operator, diff)
			}
		}
	}
}

func both(edits ...func(*v1alpha1.TrainingJob)) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		for _, edit := range edits {
			edit(j)
		}
	}
}

// TestRanksSendBeats: all ranks of a watched job have what a beat needs, those of other jobs have not, and
// the search for checkpoints sends none.
func TestRanksSendBeats(t *testing.T) {
	cases := map[string]struct {
		edit   func(*v1alpha1.TrainingJob)
		change func(*Agent)
		want   bool
	}{
		"the job's mode":                    {warn, func(*Agent) {}, true},
		"the job's mode, with checkpoints":  {both(jobtest.Checkpoints, warn), func(*Agent) {}, true},
		"the default, with checkpoints":     {jobtest.Checkpoints, func(*Agent) {}, true},
		"the default, without checkpoints":  {func(*v1alpha1.TrainingJob) {}, func(*Agent) {}, false},
		"no report server":                  {warn, func(a *Agent) { a.ReportURL = "" }, false},
		"no report server, checkpoints too": {jobtest.Checkpoints, func(a *Agent) { a.ReportURL = "" }, false},
		"the job turns it off":              {both(jobtest.Checkpoints, liveness(modeOff)), func(*Agent) {}, false},
		"the operator's limit":              {warn, func(a *Agent) { a.MaxLiveness = modeOff }, false},
	}
	for name, c := range cases {
		agent := fullAgent
		agent.Liveness, agent.MaxLiveness = modeWarn, modeWarn
		c.change(&agent)
		for i := range int32(2) {
			job := jobtest.New(2, c.edit)
			pod := renderedWith(t, agent, job, worker(i), 1)
			trainer := spec.Framework(job).Trainer(&pod.Spec)
			has := func(name string) bool {
				return slices.ContainsFunc(trainer.Env, func(e corev1.EnvVar) bool { return e.Name == name })
			}
			if Beats(pod) != c.want || has(checkpoint.EnvBeatFile) != c.want {
				t.Errorf("%s, rank %d: beats %t, want %t", name, i, Beats(pod), c.want)
			}
			token := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == tokenVolume })
			if c.want && (!token || !has(checkpoint.EnvTokenFile) || !has(checkpoint.EnvReportURL) ||
				!has(checkpoint.EnvCA) || trainer.Command[0] != agentDir+"/agent" || len(pod.Spec.InitContainers) != 1) {
				t.Errorf("%s, rank %d: lacks a part: token %t, command %v", name, i, token, trainer.Command)
			}
		}
	}
}

// TestGraceWithoutCheckpoints: a trainer that the agent wraps for its beats alone has as long after SIGTERM
// as without the agent.
func TestGraceWithoutCheckpoints(t *testing.T) {
	for _, c := range []struct {
		template  *int64
		trainer   string
		wantOfPod int64
	}{
		{nil, "30", 40}, {new(int64(600)), "600", 610}, {new(int64(0)), "0", 10}, {new(int64(1e6)), "86400", 1e6},
	} {
		job := jobtest.New(0, jobtest.Roles, warn, func(j *v1alpha1.TrainingJob) {
			r := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
			r.Template.Spec.TerminationGracePeriodSeconds = c.template
			j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = r
		})
		pod := beating(t, job, worker(0), 1)
		variable := corev1.EnvVar{Name: checkpoint.EnvGrace, Value: c.trainer}
		if !slices.Contains(pod.Spec.Containers[0].Env, variable) ||
			*pod.Spec.TerminationGracePeriodSeconds != c.wantOfPod {
			t.Errorf("grace of the pod %d, environment %v, want %d and %s", *pod.Spec.TerminationGracePeriodSeconds,
				pod.Spec.Containers[0].Env, c.wantOfPod, c.trainer)
		}
	}
}

package board

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

const pastPage = "/board/clusters/main/history/uid-bert"

// waits sets a job that waits for GPUs.
func waits(job *v1alpha1.TrainingJob) {
	job.Status = v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseQueued, Attempt: 1, GPUs: 8, Scheduling: &v1alpha1.SchedulingStatus{
			Blocker: &v1alpha1.Blocker{
				Reason: "QuotaExceeded", Message: "the queue has 3 GPUs left",
				Need: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
				Free: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("3")},
			},
		},
		Transitions: []v1alpha1.Transition{
			{Time: metav1.NewTime(now.Add(-time.Hour)), Phase: v1alpha1.PhaseQueued, Reason: "Queued"},
		},
	}
}

// trains sets a job in its second attempt.
func trains(step int64, loss string) func(*v1alpha1.TrainingJob) {
	return func(job *v1alpha1.TrainingJob) {
		job.Spec.Framework, job.Spec.Replicas = v1alpha1.FrameworkPyTorch, new(int32(2))
		job.Annotations = map[string]string{"owner": "ada@example.com"}
		job.Status = v1alpha1.TrainingJobStatus{
			Phase: v1alpha1.PhaseRunning, Attempt: 2, GPUs: 16, Replicas: 2, ReadyReplicas: 2,
			Transitions: []v1alpha1.Transition{
				{Time: metav1.NewTime(now.Add(-25 * time.Minute)), Phase: v1alpha1.PhaseDraining, Reason: "Preempted"},
				{Time: metav1.NewTime(now.Add(-20 * time.Minute)), Phase: v1alpha1.PhaseQueued, Reason: "Preempted"},
				{Time: metav1.NewTime(now.Add(-10 * time.Minute)), Phase: v1alpha1.PhaseRunning, Reason: "GangRunning"},
			},
			Progress: &v1alpha1.ProgressStatus{
				Attempt: 2, Step: step, TotalSteps: 1000, Percent: new(int32(step / 10)),
				ReportedTime: metav1.NewTime(now.Add(-time.Minute)), Metrics: map[string]string{"loss": loss},
			},
		}
	}
}

// recordedBert is the record of the job bert: its first attempt, which its status does not have.
func recordedBert(edit ...func(*history.Record)) map[types.UID]history.Record {
	r := history.Record{
		Job: history.Job{
			Key: history.Key{Cluster: "main", UID: "uid-bert"}, Namespace: "a", Name: "bert", ResourceVersion: "0",
			Phase: v1alpha1.PhaseRunning, Queue: "research", User: "ada@example.com", Created: now.Add(-time.Hour),
			Attempt: 1, GPUs: 16, GPUKind: "H100", Message: "it trained",
		},
		Attempts: []history.Attempt{
			{Number: 1, Seen: true, ResourceVersion: "0", GPUs: 16, GPUKind: "H100", Replicas: 2},
		},
		Counts: []history.Counts{{Attempt: 1}},
		Transitions: []history.Transition{
			{Time: now.Add(-50 * time.Minute), Phase: v1alpha1.PhaseRunning, Reason: "GangRunning", Attempt: 1},
			{Time: now.Add(-25 * time.Minute), Phase: v1alpha1.PhaseDraining, Reason: "Preempted", Attempt: 1},
		},
	}
	for _, e := range edit {
		e(&r)
	}
	return map[types.UID]history.Record{r.Job.UID: r}
}

func reported(attempt int32, step int64, loss string) history.Sample {
	return history.Sample{
		Attempt: attempt, Step: step, Time: now.Add(-time.Hour + time.Duration(step)*time.Second),
		Metrics: map[string]string{"loss": loss},
	}
}

// lacks reports an error for each part that a page contains.
func lacks(t *testing.T, a answer, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(a.body, part) {
			t.Errorf("%q is in %s", part, a.body)
		}
	}
}

// TestWaitingJob: the page shows the reason with its numbers, and that the history does not have the job.
func TestWaitingJob(t *testing.T) {
	s := newServer(t, newJob("a", "bert", waits))
	got := s.get(jobPage)
	contains(t, got, http.StatusOK, `id="job" data-fragments`, "the queue has 3 GPUs left",
		"<td>8</td><td>3</td>", ">5</td>", "No progress was reported", `formaction="`+jobPage+`/suspend"`,
		`href="`+jobPage+`/logs"`, `href="`+jobPage+`/yaml"`, "The history does not have the job yet")
	fragmenttest.Document(t, got.body)
	if s.api.sampled != 0 {
		t.Error("samples are read of a job that is not recorded")
	}
}

// TestRunningJob: the page combines the history and the status.
func TestRunningJob(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(500, "1.25")))
	s.api.records = recordedBert()
	s.api.samples = []history.Sample{reported(1, 100, "4.5"), reported(1, 200, "3.5"), reported(2, 400, "1.75")}
	got := s.get(jobPage)
	contains(t, got, http.StatusOK, `<progress max="100" value="50"`, "step 500 of 1", "ada@example.com",
		"attempt 1 running", ">#2</text>", "loss by step: 4 values of 2 attempts, at first 4.5, at last 1.25",
		"EUR", `href="`+jobPage+`?x=time"`, `href="/board/clusters/main/jobs?namespace=a"`)
	lacks(t, got, "history does not have", "history cannot be read")
	contains(t, s.get(jobPage+"?x=time"), http.StatusOK, `href="`+jobPage+`?x=step"`, "loss by")
	contains(t, s.get(jobPage+"?x=colour"), http.StatusUnprocessableEntity, "query.x", "use step or time")
	s.api.first = 2
	s.clock.Step(time.Minute)
	contains(t, s.get(jobPage), http.StatusOK, "The curves begin with attempt 2")
}

// TestHistoryAway: the page shows the status and notes what is missing.
func TestHistoryAway(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(500, "1.25")))
	s.api.records = recordedBert()
	s.api.unread = problem.New(problem.Unavailable, "the history cannot be read", "ask again")
	got := s.get(jobPage)
	contains(t, got, http.StatusOK, "step 500 of 1", "The history cannot be read now", ">#2</text>",
		"loss by step: 1 value")
	lacks(t, got, "attempt 1 running")
	contains(t, s.get(pastPage), http.StatusServiceUnavailable, "the history cannot be read")
	s.api.unread, s.api.unsampled = nil, errors.New("disk is away")
	got = s.get(jobPage)
	contains(t, got, http.StatusOK, "attempt 1 running", "Earlier reports of the trainer cannot be read now")
	lacks(t, got, "disk is away")
	s.api.unsampled = nil
	lacks(t, s.get(jobPage), "cannot be read now")
}

// TestPastJob: the page of a deleted job is its record with the time of deletion. It has no actions.
func TestPastJob(t *testing.T) {
	s := newServer(t)
	s.api.samples = []history.Sample{reported(1, 100, "4.5"), reported(1, 200, "3.5")}
	gone := now.Add(-5 * time.Minute)
	for name, tt := range map[string]struct {
		edit func(*history.Record)
		says string
	}{
		"deleted": {func(r *history.Record) { r.Job.Deleted = &gone },
			`(deleted <time datetime="2026-11-25T12:25:00Z">`},
		"found deleted": {func(r *history.Record) { r.Job.DeletedBefore = &gone }, "the exact time is unknown"},
		"there still": {func(*history.Record) {},
			`The job exists, as far as known: <a href="` + jobPage + `?uid=uid-bert">`},
	} {
		t.Run(name, func(t *testing.T) {
			s.api.records = recordedBert(tt.edit)
			got := s.get(pastPage)
			contains(t, got, http.StatusOK, tt.says, "Last known state", "it trained", ">#1</text>",
				"loss by step: 2 values", `href="`+pastPage+`?x=time"`)
			lacks(t, got, "/suspend", "/delete", "/logs", "/yaml")
			fragmenttest.Document(t, got.body)
		})
	}
	contains(t, s.get(pastPage+"?x=colour"), http.StatusUnprocessableEntity, "query.x")
	contains(t, s.get(pastPage+"?done=x"), http.StatusUnprocessableEntity, "query.done")
}

// TestNoJob: jobs that do not exist or that the caller may not see are error pages.
func TestNoJob(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(1, "1")))
	s.api.records = recordedBert()
	for path, says := range map[string]string{
		"/board/clusters/main/namespaces/a/jobs/none":      "there is no job none",
		"/board/clusters/main/namespaces/a/jobs/none/logs": "there is no job none",
		"/board/clusters/main/history/none":                "no such job is known",
	} {
		contains(t, s.get(path), http.StatusNotFound, "<!doctype html>", says)
	}
	s.api.denied["ann get"] = true
	for path, status := range map[string]int{
		jobPage: http.StatusForbidden, jobPage + "/logs": http.StatusForbidden, pastPage: http.StatusNotFound,
	} {
		got := s.get(path)
		contains(t, got, status, "<!doctype html>")
		lacks(t, got, "ada@example.com")
	}
}

// TestHostileRecord: text of a record is escaped.
func TestHostileRecord(t *testing.T) {
	s := newServer(t)
	s.api.records = recordedBert(func(r *history.Record) {
		r.Job.User, r.Job.Queue, r.Job.Message, r.Job.GPUKind = hostile, hostile, hostile, hostile
		r.Preemptions = []history.Preemption{
			{Attempt: 1, Time: now, Reason: hostile, By: hostile, Message: hostile},
		}
		r.Checkpoints = []history.Checkpoint{{URI: hostile, Step: 5}}
	})
	s.api.samples = []history.Sample{{Attempt: 1, Step: 1, Time: now, Metrics: map[string]string{hostile: "1"}}}
	got := s.get(pastPage)
	contains(t, got, http.StatusOK, "&lt;img src=x")
	lacks(t, got, "<img")
	fragmenttest.Document(t, got.body)
}

// TestOnlyChangedSectionsAreSent: a change sends only its section; passing time sends only what depends on
// it.
func TestOnlyChangedSectionsAreSent(t *testing.T) {
	s := newServer(t, newJob("a", "bert", waits))
	s.api.records = recordedBert()
	b := s.open("ann", jobPage, "")
	eventually(t, "the page is shown", b.shows("job", "the queue has 3 GPUs left"))
	before := len(b.patches())
	s.api.set("bert", func(job *v1alpha1.TrainingJob) {
		blocked := *job.Status.Scheduling.Blocker
		blocked.Message = "the queue has 2 GPUs left"
		job.Status.Scheduling = &v1alpha1.SchedulingStatus{Blocker: &blocked}
	})
	s.soon("the change is shown", b.shows("job", "the queue has 2 GPUs left"))
	moving, reasons := []string{"job-attempts", "job-cost", "job-reason"}, 0
	for _, patch := range b.patches()[before:] { // one, unless a second passes meanwhile
		for id := range patch.Set {
			if !slices.Contains(moving, id) {
				t.Errorf("%s is sent", id)
			}
			if id == "job-reason" {
				reasons++
			}
		}
		if patch.All || len(patch.Order)+len(patch.Move) != 0 {
			t.Errorf("sent %+v", patch)
		}
	}
	if reasons == 0 {
		t.Error("the reason was not sent by itself")
	}
}

// TestButtonsFollowRights: a revoked right removes its button from a page that others share.
func TestButtonsFollowRights(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(500, "1.25")))
	ann, bob := s.open("ann", jobPage, ""), s.open("bob", jobPage, "")
	eventually(t, "both see the buttons", func() bool {
		return ann.shows("actions", "/suspend")() && bob.shows("actions", "/suspend")()
	})
	s.api.locked(func() { s.api.denied["bob patch"] = true })
	s.soon("it is gone for one", func() bool { return !bob.shows("actions", "/suspend")() })
	if !ann.shows("actions", "/suspend")() || !bob.shows("job", "step 500")() {
		t.Error("more is gone")
	}
}

// TestVictimLinks: a victim's name leads to its page.
func TestVictimLinks(t *testing.T) {
	s := newServer(t, newJob("a", "bert", waits, func(job *v1alpha1.TrainingJob) {
		job.Status.Scheduling.Preemption = &v1alpha1.PreemptionStatus{
			Outcome: v1alpha1.PreemptionPlanned, VictimCount: 1, Victims: []v1alpha1.PreemptionVictim{{Name: "old"}},
		}
	}), newJob("a", "old", inPhase(v1alpha1.PhaseRunning)))
	victim := strings.TrimSuffix(jobPage, "bert") + "old"
	contains(t, s.get(jobPage), http.StatusOK, `<a href="`+victim+`">old</a>`)
	contains(t, s.get(victim), http.StatusOK, `<h1 id="job-name">old`)
}

// TestRehearsedJob: the pages of a job and of its rehearsal have links to each other. The job's page follows
// the rehearsal, although the job does not change.
func TestRehearsedJob(t *testing.T) {
	rehearsal := newJob("a", "bert-rehearsal", inPhase(v1alpha1.PhaseRunning), func(job *v1alpha1.TrainingJob) {
		job.Labels = map[string]string{v1alpha1.LabelRehearsalOf: "bert"}
		job.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{}
		job.Status.Attempt = 1
	})
	s := newServer(t, newJob("a", "bert", inPhase(v1alpha1.PhaseRunning)), rehearsal)
	contains(t, s.get(jobPage), http.StatusOK, `<a href="`+jobPage+`-rehearsal">bert-rehearsal</a>`,
		"running: attempt 1 trains; Kill ends it (way 1 of 4)")
	contains(t, s.get(jobPage+"-rehearsal"), http.StatusOK, `It rehearses <a href="`+jobPage+`">bert</a>`)
	s.api.mu.Lock()
	rehearsal.Status.Rehearsal = &v1alpha1.RehearsalStatus{Result: v1alpha1.RehearsalResultPassed}
	rehearsal.Status.Phase = v1alpha1.PhaseSucceeded
	s.api.mu.Unlock()
	contains(t, s.get(jobPage), http.StatusOK, "Passed, spec unknown")
}

// TestViewersShareDrawing: a page is drawn once for all viewers, and again when it changes.
func TestViewersShareDrawing(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(500, "1.25")))
	s.api.records = recordedBert()
	drawn := func() int64 { return s.board.drawn.rendered.Load() }
	ranks := func() int64 { return s.board.drawnRanks.rendered.Load() }
	s.get(jobPage)
	s.send(s.request(t.Context(), http.MethodGet, jobPage, "bob", nil))
	if drawn() != 1 || ranks() != 1 || s.api.sampled != 1 {
		t.Errorf("drawn %d times, ranks %d, samples read %d times, want once", drawn(), ranks(), s.api.sampled)
	}
	for n, change := range []func(){
		func() { s.api.set("bert", trains(501, "1.25")) },
		func() { s.api.records = recordedBert(func(r *history.Record) { r.Attempts[0].GPUs = 8 }) },
		func() { s.clock.Step(5 * time.Second) },
		func() { s.api.unread = problem.New(problem.Unavailable, "away", "wait") },
	} {
		change()
		s.get(jobPage)
		s.get(jobPage)
		if want := int64(n + 2); drawn() != want {
			t.Errorf("change %d: drawn %d times, want %d", n, drawn(), want)
		}
	}
	if ranks() != 2 {
		t.Errorf("ranks are drawn %d times, want one more with the job alone", ranks())
	}
	before := drawn()
	s.get(jobPage + "?x=time")
	s.get(jobPage)
	if drawn() != before+1 {
		t.Errorf("another axis: drawn %d times, want %d", drawn(), before+1)
	}
}

// TestDrawingFailsAlone: a reader who leaves while a page is drawn does not affect others.
func TestDrawingFailsAlone(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(500, "1.25")))
	s.api.records = recordedBert()
	s.api.samples = []history.Sample{reported(1, 100, "4.5")}
	r := s.request(t.Context(), http.MethodGet, jobPage, "", nil)
	gone, leave := context.WithCancel(identity.NewContext(t.Context(), identity.Identity{Name: "ann"}))
	leave()
	r = r.WithContext(gone)
	r.SetPathValue("cluster", "main")
	r.SetPathValue("namespace", "a")
	r.SetPathValue("name", "bert")
	if _, err := s.board.job(r); !errors.Is(err, context.Canceled) {
		t.Errorf("of a reader who is gone: %v", err)
	}
	contains(t, s.get(jobPage), http.StatusOK, "loss by step: 2 values")
}

// TestDrawnAt: pages of running jobs are drawn for steps of five seconds, others for minutes.
func TestDrawnAt(t *testing.T) {
	at := now.Add(59 * time.Second)
	got := []time.Time{
		drawnAt(&history.Job{Phase: v1alpha1.PhaseRunning}, at),
		drawnAt(&history.Job{Phase: v1alpha1.PhaseFailed}, at),
	}
	if diff := cmp.Diff([]time.Time{now.Add(55 * time.Second), now}, got); diff != "" {
		t.Error(diff)
	}
}

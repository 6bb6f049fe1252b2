//go:build cluster

package simtrainer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// TestTrainers simulates trainers as localcluster up does: in a process of its own, against a real API
// server, with real tokens.
func TestTrainers(t *testing.T) {
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(t.TempDir(), "cluster"), Schedulers: []string{localcluster.SchedulerNative}, Nodes: 3,
		Attached: true, Trainers: harness.Program(t, "localcluster"), Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(cluster.LogDir(), "trainers.log"))
			t.Logf("the simulator's log:\n%s", log)
		}
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	api, err := client.NewWithWatch(cluster.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{cluster: cluster, api: api}
	s.server = newFakeReportServer(t, api)
	t.Run("a gang trains, reports and completes", s.completes)
	t.Run("a deleted gang saves, and the next attempt resumes", s.resumes)
	t.Run("a gang that dies loses what came after its last commit", s.dies)
	t.Run("a command is obeyed", s.obeys)
	t.Run("a simulator that was killed continues", s.killed)
	t.Run("nothing happens on a dead node", s.deadNode)
	t.Run("a pod that cannot be simulated says why", s.failsToStart)
	t.Run("a claim of the simulated class is bound", s.binds)
	t.Run("60 gangs of 8 ranks", s.many)
}

func (s *suite) completes(t *testing.T) {
	gang := newGang(s.server, "completes", "steps=60 rate=20 every=1s save=200ms", 1, 3, "")
	s.server.reject("completes-worker-0", 2) // as while no operator leads
	s.create(t, gang[1:]...)
	s.create(t, gang[0])
	w := terminationOf(t, s.ended(t, gang[0]))
	if w.Reason != checkpoint.ExitCompleted || w.Phase != checkpoint.PhaseCompleted || *w.Step != 60 ||
		w.Checkpoint == nil || w.Checkpoint.Step != 60 ||
		w.Checkpoint.URI != "pvc://completes-checkpoints/attempt-1/step-0000000060" {
		t.Errorf("the termination message of rank 0: %+v, %+v", w, w.Checkpoint)
	}
	for _, pod := range gang[1:] {
		if w := terminationOf(t, s.ended(t, pod)); w.Reason != checkpoint.ExitExited || w.ExitCode != 0 ||
			w.Checkpoint != nil || w.Phase != "" {
			t.Errorf("the termination message of %s: %+v", pod.Name, w)
		}
	}
	reports := s.server.of(gang[0])
	if len(reports) < 2 || s.server.rejections("completes-worker-0") != 2 {
		t.Fatalf("reports %+v, %d rejected", reports, s.server.rejections("completes-worker-0"))
	}
	last := reports[len(reports)-1]
	if last.Phase != checkpoint.PhaseCompleted || last.Step != 60 || last.FirstStep == nil ||
		*last.FirstStep != 1 || last.Checkpoint.Step != 60 {
		t.Errorf("the last report: %+v", last)
	}
	for _, pod := range gang[1:] {
		if reports := s.server.of(pod); len(reports) > 0 {
			t.Errorf("%s has reported: %+v", pod.Name, reports)
		}
	}
	s.delete(t, gang...)
	s.gone(t, gang...)
}

const long = "steps=1000000 rate=100 every=1s save=300ms"

func (s *suite) resumes(t *testing.T) {
	gang := newGang(s.server, "resumes", long, 1, 2, "")
	s.create(t, gang...)
	before := s.committed(t, gang[0])
	ends := s.deleteAndRecord(t, gang...)
	w := terminationOf(t, ends[gang[0].Name])
	if w.Reason != checkpoint.ExitExited || w.ExitCode != 0 || w.Phase == checkpoint.PhaseCompleted {
		t.Errorf("the termination message: %+v", w)
	}
	if w.Checkpoint == nil || w.Checkpoint.Step != *w.Step || *w.Step < before.Step {
		t.Fatalf("what was trained was not saved: %+v, %+v; it had reported step %d", w, w.Checkpoint, before.Step)
	}
	if follower := terminationOf(t, ends[gang[1].Name]); follower.ExitCode != 0 {
		t.Errorf("the follower: %+v", follower)
	}

	resolver := newResolver("resumes", "trainer")
	s.create(t, resolver)
	r := terminationOf(t, s.ended(t, resolver))
	if r.Reason != checkpoint.ExitResolved || r.Checkpoint == nil || r.Checkpoint.URI != w.Checkpoint.URI ||
		r.Checkpoint.Step != w.Checkpoint.Step {
		t.Errorf("the resolver says %+v, %+v", r, r.Checkpoint)
	}

	path := strings.Replace(w.Checkpoint.URI, "pvc://resumes-checkpoints", "/checkpoints", 1)
	next := newGang(s.server, "resumes", long, 2, 2, path)
	s.create(t, next...)
	if r := s.committed(t, next[0]); r.FirstStep == nil || *r.FirstStep != w.Checkpoint.Step+1 ||
		r.Checkpoint.Step <= w.Checkpoint.Step {
		t.Errorf("attempt 2 reports %+v", r)
	}
	s.deleteAndRecord(t, next...)

	ignoring := newGang(s.server, "resumes", long+" ignore-resume=true", 3, 2, path)
	s.create(t, ignoring...)
	if r := s.committed(t, ignoring[0]); r.FirstStep == nil || *r.FirstStep != 1 {
		t.Errorf("a trainer that ignores its resume point reports %+v", r)
	}
	s.deleteAndRecord(t, ignoring...)

	lost := newGang(s.server, "resumes", long, 4, 2, "/checkpoints/attempt-1/step-0000000001")
	s.create(t, lost...)
	const missing = "no complete checkpoint at pvc://resumes-checkpoints/attempt-1/step-0000000001"
	if w := terminationOf(t, s.ended(t, lost[0])); w.ExitCode != 1 || !strings.Contains(w.Log, missing) {
		t.Errorf("a trainer whose resume point is not there: %+v", w)
	}
	s.delete(t, lost...)
	s.gone(t, lost...)
}

func (s *suite) dies(t *testing.T) {
	gang := newGang(
		s.server, "dies", strings.Replace(long, "every=1s", "every=3s", 1)+" on-sigterm=die", 1, 2, "",
	)
	s.create(t, gang...)
	s.committed(t, gang[0])
	ends := s.deleteAndRecord(t, gang...)
	if w := terminationOf(t, ends[gang[0].Name]); w.Reason != checkpoint.ExitSignaled || w.ExitCode != 143 ||
		w.Checkpoint == nil || *w.Step <= w.Checkpoint.Step {
		t.Errorf("rank 0: %+v, %+v", w, w.Checkpoint)
	}
	if w := terminationOf(t, ends[gang[1].Name]); w.ExitCode != 143 {
		t.Errorf("rank 1: %+v", w)
	}
}

func (s *suite) obeys(t *testing.T) {
	gang := newGang(s.server, "obeys", strings.Replace(long, "every=1s", "every=1h", 1), 1, 2, "")
	drain := checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "drain-1"}
	s.server.command("obeys-worker-0", drain)
	s.create(t, gang...)
	w := terminationOf(t, s.ended(t, gang[0]))
	if w.Reason != checkpoint.ExitExited || w.ExitCode != 0 {
		t.Errorf("the termination message: %+v", w)
	}
	if reports := s.server.of(gang[0]); reports[len(reports)-1].CommandID != "drain-1" ||
		reports[len(reports)-1].DeliveredID != "drain-1" {
		t.Errorf("the last report: %+v", reports[len(reports)-1])
	}
	if w := terminationOf(t, s.ended(t, gang[1])); w.ExitCode != 0 {
		t.Errorf("rank 1: %+v", w)
	}
	s.delete(t, gang...)
	s.gone(t, gang...)
}

func (s *suite) killed(t *testing.T) {
	gang := newGang(s.server, "killed", long, 1, 2, "")
	s.create(t, gang...)
	before := s.committed(t, gang[0])
	if err := syscall.Kill(s.simulator(t).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the simulator is dead", func() (bool, string) { return !s.simulator(t).Running, "it runs" })
	// While no simulator runs, one rank is deleted.
	s.delete(t, gang[1])
	if err := s.cluster.StartProcess(t.Context(), "trainers"); err != nil {
		t.Fatal(err)
	}
	count := len(s.server.of(gang[0]))
	eventually(t, "it reports again", s.moreReports(gang[0], 1))
	after := s.server.of(gang[0])[count]
	if after.Step < before.Step || after.Checkpoint == nil ||
		after.Checkpoint.Step < before.Checkpoint.Step || *after.FirstStep != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if w := terminationOf(t, s.deleteAndRecord(t, gang[0])[gang[0].Name]); w.Checkpoint == nil ||
		w.Checkpoint.Step != *w.Step || *w.Step < after.Step {
		t.Errorf("the termination message: %+v", w)
	}
	s.gone(t, gang[1])
}

func (s *suite) deadNode(t *testing.T) {
	dead, alive := newGang(s.server, "dead", long, 1, 1, ""), newGang(s.server, "alive", long, 1, 1, "")
	dead[0].Spec.NodeName = "node-2"
	s.create(t, dead[0], alive[0])
	s.committed(t, dead[0])
	if err := s.cluster.KillNode(t.Context(), "node-2"); err != nil {
		t.Fatal(err)
	}
	// One report may still be on its way.
	eventually(t, "the other one reports twice", s.moreReports(alive[0], 2))
	silent := len(s.server.of(dead[0]))
	s.delete(t, dead[0])
	eventually(t, "the other one reports twice more", s.moreReports(alive[0], 2))
	s.deleteAndRecord(t, alive[0])
	if now := len(s.server.of(dead[0])); now != silent {
		t.Errorf("%d reports came from a dead node", now-silent)
	}
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(dead[0]), dead[0]); err != nil ||
		terminated(dead[0]) != nil {
		t.Errorf("the pod on the dead node: %v, %+v", err, terminated(dead[0]))
	}
	if err := s.cluster.ReviveNode(t.Context(), "node-2"); err != nil {
		t.Fatal(err)
	}
	s.gone(t, dead[0])
}

func (s *suite) failsToStart(t *testing.T) {
	gang := newGang(s.server, "refused", "steps=100 speed=5", 1, 1, "")
	s.create(t, gang...)
	if w := terminationOf(t, s.ended(t, gang[0])); w.Reason != checkpoint.ExitStartFailed ||
		!strings.Contains(w.Problem, `"speed" is unknown`) {
		t.Errorf("the termination message: %+v", w)
	}
	s.delete(t, gang...)
	s.gone(t, gang...)
}

// many gangs complete. The CPU time that takes is logged.
func (s *suite) many(t *testing.T) {
	const gangs, ranks = 60, 8
	before := cpuSeconds(t, s.simulator(t).PID)
	began := time.Now()
	var all []*corev1.Pod
	for i := range gangs {
		gang := newGang(s.server, fmt.Sprintf("many-%d", i), "steps=600 rate=20 every=10s save=1s", 1, ranks, "")
		s.create(t, gang...)
		all = append(all, gang...)
	}
	created := time.Since(began)
	for _, pod := range all {
		if w := terminationOf(t, s.ended(t, pod)); w.ExitCode != 0 {
			t.Errorf("%s: %+v", pod.Name, w)
		}
	}
	took, cpu := time.Since(began).Round(time.Second), cpuSeconds(t, s.simulator(t).PID)-before
	t.Logf("%d ranks created in %s, all ended after %s; the simulator used %.1f s of CPU",
		len(all), created.Round(time.Second), took, cpu)
	s.delete(t, all...)
	s.gone(t, all...)
}

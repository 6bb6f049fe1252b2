//go:build cluster

package upgrade

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/status"
)

var (
	long = flag.Bool("upgrade.full", false, "the long form: forty gangs, and more that happens to them")
	on   = flag.String("upgrade.on", localcluster.SchedulerVolcano, "the schedulers, with commas between them")
)

// TestUpgradeAndRemoval: gangs in every phase outlive an upgrade and the way back, and the removal of the
// operator leaves nothing of it.
func TestUpgradeAndRemoval(t *testing.T) {
	for name := range strings.SplitSeq(*on, ",") {
		t.Run(name, func(t *testing.T) { upgradeAndRemove(t, name) })
	}
}

// upgradeAndRemove is the one scenario for every scheduler.
func upgradeAndRemove(t *testing.T, scheduler string) {
	all := gangs(scheduler)
	if !*long {
		for i := range all {
			all[i].copies = 1
		}
	}
	former, this := formerRelease(t), thisRelease(t)
	s := newStage(t, scheduler, all)
	bare := s.bare()
	s.install(former)
	leader := s.start(former)
	s.fill(all, leader)
	s.rest(leader, heldBack)
	s.backOff()
	leader = s.replace(leader, this)
	s.happen(leader)
	s.rest(leader, refreshed)
	s.storeAgain(leader)
	if *long {
		s.backOff()
	}
	leader = s.replace(leader, former)
	if *long {
		s.happen(leader)
		s.rest(leader, refreshed)
		s.backOff()
	}
	leader = s.removeAndReturn(leader, this)
	s.revive()
	if scheduler == localcluster.SchedulerKueue {
		leader = s.absence(leader)
	}
	free, claims := s.quotaIsFree(), s.outliving()
	s.remove(leader)
	free()
	s.leftNothing(bare, claims)
}

// fill the stage, and check that the audit log counts the writes of the operator.
func (s *stage) fill(all []gang, o *operator) {
	s.t.Helper()
	mark, n := s.mark(), 0
	for _, g := range all {
		for i := range g.copies {
			s.submit(g, g.at(i))
			n++
		}
		if g.pool != crowd {
			g.reach(s, g.at(0)) // before the next ones wait for it
		}
	}
	for _, g := range all {
		for i := range g.copies {
			if g.pool == crowd && g.reach != nil {
				g.reach(s, g.at(i))
			}
		}
	}
	writes := s.writesSince(mark, o.release)
	s.t.Logf("%d gangs on %s; operator %s wrote %d times: %v", n, s.scheduler, o.name, len(writes),
		tally(writes))
	for _, what := range []string{"create pods", "patch trainingjobs/status", "create services"} {
		if tally(writes)[what] == 0 {
			s.t.Errorf("the audit log has no %q of operator %s", what, o.name)
		}
	}
}

// tally counts writes by what they are.
func tally(writes []write) map[string]int {
	counts := map[string]int{}
	for _, w := range writes {
		counts[w.verb+" "+w.resource]++
	}
	return counts
}

// replace a running operator by a replica of another release, as a rollout does: the manifests are applied,
// the next one stands by, the former one ends.
func (s *stage) replace(former *operator, r release) *operator {
	s.t.Helper()
	return s.undisturbed(former, r, func() *operator {
		s.install(r)
		next := s.start(r)
		s.stop(former)
		return next
	})
}

// removeAndReturn removes the operator, with its policies, rights and namespace, and leaves the jobs and
// their CRD behind; a later installation continues with them.
func (s *stage) removeAndReturn(former *operator, r release) *operator {
	s.t.Helper()
	return s.undisturbed(former, r, func() *operator {
		s.stop(former)
		s.kubectl("delete", "-k", r.deploy("operator"))
		s.kubectl("delete", "-f", r.deploy("admission"))
		s.install(r)
		return s.start(r)
	})
}

// undisturbed checks that nothing changes for any gang while another operator takes over, and that it writes
// nothing until something happens. It returns that operator.
func (s *stage) undisturbed(former *operator, r release, takeOver func() *operator) *operator {
	s.t.Helper()
	before, mark := s.snapshot(), s.mark()
	next := takeOver()
	s.leads(next)
	s.settled(next, len(before.jobs))
	s.unchanged(fmt.Sprintf("from %s to %s", former.name, r.name), next, before, mark)
	s.proveItActs(next)
	return next
}

// unchanged checks that since a snapshot, and a mark of the same time, nothing has changed for any gang, and
// that the operator has written nothing but texts. Jobs that were added meanwhile are not compared.
func (s *stage) unchanged(when string, o *operator, before snapshot, mark int64, added ...string) {
	s.t.Helper()
	after, writes := s.snapshot(), s.writesSince(mark, o.release)
	due := before.due(time.Now())
	excepted := func(name string) bool {
		return due(name) ||
			slices.ContainsFunc(added, func(job string) bool { return strings.HasPrefix(name, job) })
	}
	for _, change := range before.changes(after, excepted) {
		s.t.Errorf("%s: %s", when, change)
	}
	writes = slices.DeleteFunc(writes, func(w write) bool {
		reworded := w.verb == "patch" && w.resource == "trainingjobs/status" && before.explains(w.name)
		return excepted(w.name) || reworded || w.namespace == system // the event about its own lease
	})
	if len(writes) > 0 {
		s.t.Errorf("%s: operator %s wrote: %v", when, o.name, writes)
	}
	s.t.Logf("%s: %d jobs, %d pods and %d objects are the same", when, len(before.jobs), len(before.pods),
		len(before.objects))
}

// storeAgain has every job written once, as docs/install.md says of another stored version: it starts
// nothing.
func (s *stage) storeAgain(o *operator) {
	s.t.Helper()
	before, mark := s.snapshot(), s.mark()
	command, _, _ := strings.Cut(s.documented("docs/install.md", "### Plan for v1beta1", "   ```\n"), "\n")
	s.shell(command)
	added := s.proveItActs(o)
	if stored := tally(s.allWritesSince(mark))["update trainingjobs"]; stored != len(before.jobs) {
		s.t.Errorf("%q stored %d of %d jobs", command, stored, len(before.jobs))
	}
	s.unchanged("after "+strings.TrimSpace(command), o, before, mark, added)
}

const (
	// heldBack is longer than the operator holds a write back: counts of ranks wait 5 s for others.
	heldBack = 7 * time.Second
	// refreshed is longer than the reason of a gang that waits may be out of date, after others have changed it.
	refreshed = status.BlockerRefresh + heldBack
)

// rest waits until the operator has written nothing for so long.
func (s *stage) rest(o *operator, enough time.Duration) {
	s.t.Helper()
	mark, last := s.mark(), time.Now()
	s.until("operator "+o.name+" rests", func(context.Context) (string, error) {
		if writes := s.writesSince(mark, o.release); len(writes) > 0 {
			mark, last = s.mark(), time.Now()
		}
		if time.Since(last) < enough {
			return "it still writes", nil
		}
		return "", nil
	})
}

// leads waits until the replica has the lease.
func (s *stage) leads(o *operator) {
	s.t.Helper()
	s.until("operator "+o.name+" leads", func(ctx context.Context) (string, error) {
		_, text, err := get(ctx, "http://"+o.metricsAt+"/metrics")
		if err != nil || !strings.Contains(text, leads) {
			return "another does", nil
		}
		return "", nil
	})
}

// leads is the metric of a leader.
const leads = `leader_election_master_status{name="trainingjob-operator"} 1`

// proveItActs has the operator write about a new job, so that its silence before was not that of the dead. It
// returns the job's name.
func (s *stage) proveItActs(o *operator) string {
	s.t.Helper()
	mark, name := s.mark(), s.next("sentinel")
	s.submit(gang{pool: crowd, ranks: 1, edit: with(suspended)}, name)
	reaches(v1alpha1.PhaseSuspended)(s, name)
	written := write{o.userAgent(), "patch", "trainingjobs/status", crowd, name}
	s.until("the audit log has that operator "+o.name+" wrote of "+name, func(context.Context) (string, error) {
		if writes := s.writesSince(mark, o.release); !slices.Contains(writes, written) {
			return fmt.Sprintf("it has only %v", writes), nil
		}
		return "", nil
	})
	return name
}

// next returns a unique name for an object that every act creates.
func (s *stage) next(name string) string {
	s.serial++
	return fmt.Sprintf("%s-%d", name, s.serial)
}

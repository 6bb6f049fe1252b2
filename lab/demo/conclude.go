package demo

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// conclude prints the verdict and the figures. It returns ErrNotHeld when a claim did not hold.
func (s *session) conclude(p *player) error {
	summary := summarise(p.history, s.brokered())
	summary.Scheduler, summary.OperatorRestarts = s.Scheduler, p.frame.operatorRestarts
	summary.Writes = s.countWrites(p.started)
	summary.print(s.Out)
	if !AllHeld(summary.Findings) {
		return ErrNotHeld
	}
	fmt.Fprintf(s.Out, "\nThe story held on %s.\n", schedulerTitle(s.Scheduler))
	return nil
}

// countWrites counts the operator's writes by job. It returns nil for a cluster without an audit log.
func (s *session) countWrites(since time.Time) map[string]int {
	path := s.cluster.AuditLog()
	if path == "" {
		return nil
	}
	log, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer log.Close()
	writes, err := operatorWrites(log, Namespace, since, jobNames())
	if err != nil {
		fmt.Fprintln(s.Progress, "Counting the operator's writes failed:", err)
		return nil
	}
	return writes
}

// explain prints the jobs at the time when the story stopped, and adds the operator's log to the error.
func (s *session) explain(p *player, err error) error {
	for _, name := range jobNames() {
		if j, ok := p.frame.state.Jobs[name]; ok {
			head := fmt.Sprintf("  %-8s %-10s ", name, j.Phase)
			text := strings.TrimPrefix(j.Reason+": "+j.Message, ": ")
			fmt.Fprintln(s.Out, wrap(head, text, 4))
		}
	}
	return s.operator.withLog(err)
}

// leave stops the processes and the demo's own cluster if Down is set, otherwise prints what keeps running
// and the next steps.
func (s *session) leave(ctx context.Context, found bool, failure error) error {
	if !s.Down {
		s.printNextSteps()
		return nil
	}
	if failure != nil {
		fmt.Fprintf(s.Progress, "The end of the operator's log, which is deleted with the cluster:\n%s\n",
			tail(s.operator.log(), logLines))
	}
	// Also after an interrupt.
	const within = 2 * time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if err := stopAll(ctx, s.cluster.LogDir()); err != nil {
		return err
	}
	if found {
		fmt.Fprintln(s.Out, "Operator and server are stopped. The cluster was up before the demo and stays up.")
		return nil
	}
	if err := s.cluster.Down(ctx); err != nil {
		return fmt.Errorf("taking the cluster down: %w", err)
	}
	fmt.Fprintln(s.Out, "The cluster, the operator and the server are stopped.")
	return nil
}

func (s *session) printNextSteps() {
	if pid, err := s.operator.pid(); pid == 0 || err != nil {
		fmt.Fprintln(s.Out, "\nThe cluster keeps running, without the operator:")
	} else {
		fmt.Fprintf(s.Out, `
The cluster, the operator and the server keep running. Look around:

  export KUBECONFIG=%s
  alias kubectl=%s
  kubectl get tj -n %s
  kubectl describe tj %s -n %s
  kubectl apply -f examples/quickstart.yaml && kubectl get tj -w
`, shellPath(s.cluster.Kubeconfig()), shellPath(s.cluster.Kubectl()), Namespace, second, Namespace)
	}
	what, command := s.other()
	fmt.Fprintf(s.Out, `
  in a browser       %s
  logs               %s
  %-18s %s
  end it all         %s

`, localcluster.Command(s.cluster.Dir(), "board"), shortPath(s.cluster.LogDir()), what, command,
		localcluster.DownCommand(s.cluster.Dir()))
}

// other returns how to play the story on another scheduler.
func (s *session) other() (what, command string) {
	if s.Scheduler == localcluster.SchedulerVolcano {
		return "without Volcano", "make demo SCHEDULER=" + localcluster.SchedulerNative
	}
	return "with Volcano", "make demo"
}

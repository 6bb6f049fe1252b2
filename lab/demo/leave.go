package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// logLines is how much of the operator's log is shown with an error.
const logLines = 15

// withLog adds the end of the operator's log to an error.
func (s *stage) withLog(err error) error {
	return fmt.Errorf("%w\nThe end of %s:\n%s", err, shortPath(s.operator.log()), tail(s.operator.log(), logLines))
}

// explain says where the story stopped: the jobs as they are, the operator's log.
func (s *stage) explain(p *player, err error) error {
	for _, name := range cast() {
		if j, ok := p.scene.world.Jobs[name]; ok {
			fmt.Fprintln(s.Out, wrap(fmt.Sprintf("  %-8s %-10s ", name, j.Phase), strings.TrimPrefix(j.Reason+": "+j.Message, ": "), 4))
		}
	}
	return s.withLog(err)
}

// leave ends what is to be ended, or says what was left and how to go on.
func (s *stage) leave(ctx context.Context, found bool, failure error) error {
	if !s.Down {
		s.tellNextSteps()
		return nil
	}
	if failure != nil {
		fmt.Fprintf(s.Progress, "The end of the operator's log, which goes with the cluster:\n%s\n", tail(s.operator.log(), logLines))
	}
	// Also after an interrupt: it is what --down promised.
	const within = 2 * time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if err := s.operator.stop(ctx); err != nil {
		return err
	}
	if found {
		fmt.Fprintln(s.Out, "The operator is stopped. The cluster was up before the demo and is left up.")
		return nil
	}
	if err := s.cluster.Down(ctx); err != nil {
		return fmt.Errorf("taking the cluster down: %w", err)
	}
	fmt.Fprintln(s.Out, "The cluster and the operator are stopped.")
	return nil
}

func (s *stage) tellNextSteps() {
	if pid, err := s.operator.pid(); pid == 0 || err != nil {
		fmt.Fprintln(s.Out, "\nThe cluster keeps running, without the operator:")
	} else {
		fmt.Fprintf(s.Out, `
The cluster and the operator keep running. Look around:

  export KUBECONFIG=%s
  alias kubectl=%s
  kubectl get tj -n %s
  kubectl describe tj %s -n %s
  kubectl apply -f examples/quickstart.yaml && kubectl get tj -w
`, shellPath(s.cluster.Kubeconfig()), shellPath(s.cluster.Kubectl()), Namespace, second, Namespace)
	}
	what, command := s.other()
	fmt.Fprintf(s.Out, `
  logs               %s
  %-18s %s
  end it all         bin/localcluster down%s

`, shortPath(s.cluster.LogDir()), what, command, s.dirFlag())
}

// other says how to play on the scheduler that was not played on.
func (s *stage) other() (what, command string) {
	if s.Scheduler == localcluster.SchedulerVolcano {
		return "without Volcano", "make demo SCHEDULER=" + localcluster.SchedulerNative
	}
	return "with Volcano", "make demo"
}

// dirFlag is needed where the cluster is not in the default place.
func (s *stage) dirFlag() string {
	if shortPath(s.cluster.Dir()) == DefaultDir {
		return ""
	}
	return " --dir " + shortPath(s.cluster.Dir())
}

// DefaultDir of the cluster, below the working directory.
const DefaultDir = ".localcluster"

// StopOperator ends the operator that a demo left running beside the cluster, if there is one. It is to end before the
// API server, which waits for its clients' watches.
func StopOperator(ctx context.Context, cluster *localcluster.Cluster) error {
	return operator{folder: cluster.LogDir()}.stop(ctx)
}

// OperatorPID is the operator's that a demo left running beside the cluster, 0 if there is none.
func OperatorPID(cluster *localcluster.Cluster) (int, error) {
	return operator{folder: cluster.LogDir()}.pid()
}

func schedulerTitle(name string) string {
	switch name {
	case localcluster.SchedulerVolcano:
		return "Volcano"
	case localcluster.SchedulerCoscheduling:
		return "scheduler-plugins' Coscheduling"
	case localcluster.SchedulerKueue:
		return "Kueue"
	}
	return "Kubernetes' own scheduler"
}

// filesOf are the files that the acts apply, in their time.
func filesOf(acts []Act) []string {
	var files []string
	for _, act := range acts {
		if act.Apply != "" {
			files = append(files, act.Apply)
		}
	}
	return files
}

// shortPath is relative where it lies below the working directory.
func shortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(dir, path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return short
}

// shellPath holds in any folder that the user changes to, and is short.
func shellPath(path string) string {
	if short := shortPath(path); short != path {
		return "$PWD/" + short
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, home+"/") {
		return "~" + strings.TrimPrefix(path, home)
	}
	return path
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Folders of the repository that the demo reads.
const (
	storyFolder     = "examples/demo"
	crdFolder       = "deploy/crd"
	admissionFolder = "deploy/admission"
)

// ErrNotHeld is returned by Run when the story was played and did not hold.
var ErrNotHeld = errors.New("the story did not hold")

// Options say how the demo is played.
type Options struct {
	// Dir of the local cluster; one that is up is used as it is.
	Dir string
	// Modules is localcluster's option of that name.
	Modules string
	// Scheduler is volcano, native, coscheduling or kueue.
	Scheduler string
	// Operator is the path of the operator's binary.
	Operator string
	// Trainers is localcluster's option of that name.
	Trainers string
	// Down ends the operator after the story, and the cluster if the demo brought it up.
	Down bool
	// In and Out decide between the live table and lines; the story goes to Out, progress to Progress.
	In, Out  *os.File
	Progress io.Writer
}

// Run brings a cluster up, plays the story on it and judges it. The cluster and the operator stay unless Options.Down;
// ErrNotHeld means that the story came to its end, and other errors that it did not.
func Run(ctx context.Context, o Options) error {
	if _, known := schedulerKinds()[o.Scheduler]; !known {
		return fmt.Errorf("unknown scheduler %q; known are %v", o.Scheduler, slices.Sorted(maps.Keys(schedulerKinds())))
	}
	if _, err := os.Stat(o.Operator); err != nil {
		return fmt.Errorf("finding the operator's binary: %w; \"make build\" makes it", err)
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	cluster, err := localcluster.Up(ctx, localcluster.Options{
		Dir: o.Dir, Modules: o.Modules, Audit: true, Progress: o.Progress, Schedulers: clusterSchedulers(o.Scheduler), Trainers: o.Trainers,
		CRDs: []string{filepath.Join(root, crdFolder)},
	})
	found := errors.Is(err, localcluster.ErrRunning)
	if err != nil && !found {
		return fmt.Errorf("bringing the cluster up: %w", err)
	}
	if found {
		fmt.Fprintf(o.Progress, "The cluster in %s is up; the demo uses it.\n", shortPath(cluster.Dir()))
	}
	s := stage{Options: o, root: root, cluster: cluster, operator: operator{folder: cluster.LogDir(), path: o.Operator}}
	lock, err := tryLock(filepath.Join(cluster.LogDir(), "demo.lock"))
	if err != nil {
		return fmt.Errorf("another demo plays on this cluster: %w", err)
	}
	defer lock.Close()
	err = s.perform(ctx)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return errors.Join(err, s.leave(ctx, found, err))
}

// stage is where the story is played.
type stage struct {
	Options
	root     string
	cluster  *localcluster.Cluster
	operator operator
	client   client.WithWatch
}

// perform prepares the cluster, starts the operator, plays and judges.
func (s *stage) perform(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	// Whoever stops the operator next must not meet a supervisor that starts it again.
	defer tasks.Wait()
	defer cancel()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	// Nobody reads them before the story begins.
	restarts, failed := make(chan error, 64), make(chan error, 4)
	if err := s.startOperator(ctx, &tasks, restarts, failed); err != nil {
		return err
	}
	// With the operator at work: it may have to let go of what is in the namespace.
	if err := renewNamespace(ctx, s.client); err != nil {
		return err
	}
	if err := checkRoom(ctx, s.client); err != nil {
		return err
	}
	story := s.storyFolder()
	for _, folder := range []string{filepath.Dir(story), story} {
		if err := applyAll(ctx, s.client, folder, Namespace, filesOf(Story())...); err != nil {
			return err
		}
	}
	records := make(chan Record)
	if err := (recorder{s.client, Namespace, records}).start(ctx, failed); err != nil {
		return err
	}
	p := &player{
		acts: Story(), show: newDisplay(s.In, s.Out),
		apply: func(ctx context.Context, file string) error {
			return apply(ctx, s.client, filepath.Join(story, file), Namespace)
		},
		records: records, restarts: restarts, failed: failed,
		scene: scene{scheduler: s.Scheduler},
	}
	fmt.Fprintf(s.Out, "\nThree gangs of 24 GPUs meet on 4 nodes of 8. %s places them.\n\n", schedulerTitle(s.Scheduler))
	if err := p.play(ctx); err != nil {
		return s.explain(p, err)
	}
	return s.conclude(p)
}

// clusterSchedulers of a cluster that is brought up. One with Volcano and native gangs serves two stories; Kueue comes alone,
// since its webhooks look at every pod.
func clusterSchedulers(scheduler string) []string {
	if scheduler == localcluster.SchedulerKueue {
		return []string{scheduler}
	}
	return nil // localcluster's default
}

func (s *stage) storyFolder() string { return filepath.Join(s.root, storyFolder, s.Scheduler) }

// prepare installs what the operator and the story need.
func (s *stage) prepare(ctx context.Context) error {
	fmt.Fprintf(s.Progress, "Installing the CRD, starting the operator, emptying namespace %s.\n", Namespace)
	// An operator of an earlier demo may be older than the binary, and has another configuration.
	if err := s.operator.stop(ctx); err != nil {
		return err
	}
	// A cluster that was up may have an older one.
	if err := s.cluster.InstallCRDs(ctx, filepath.Join(s.root, crdFolder)); err != nil {
		return fmt.Errorf("installing the operator's CRD: %w", err)
	}
	c, err := newClient(s.cluster.RESTConfig())
	if err != nil {
		return err
	}
	s.client = c
	if err := checkScheduler(c, s.Scheduler); err != nil {
		return err
	}
	return applyAll(ctx, c, filepath.Join(s.root, admissionFolder), "")
}

// startOperator starts the operator under supervision and waits until it is ready.
func (s *stage) startOperator(ctx context.Context, tasks *sync.WaitGroup, restarts, failed chan<- error) error {
	const within = time.Minute
	address, err := freeAddress()
	if err != nil {
		return err
	}
	reports, err := freeAddress()
	if err != nil {
		return err
	}
	if err := s.operator.linkCertificates(s.cluster.ServingFiles()); err != nil {
		return err
	}
	if err := s.operator.configure(s.Scheduler, address, reports); err != nil {
		return err
	}
	ready, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it was not ready within %s", within))
	defer cancel()
	ready, giveUp := context.WithCancelCause(ready)
	defer giveUp(nil)
	supervisor := supervisor{
		start:   func() (*exec.Cmd, error) { return s.operator.start(s.cluster.Kubeconfig()) },
		backoff: standardBackoff(), settled: 10 * time.Second,
		ended: func(err error) {
			select {
			case restarts <- err:
			case <-ctx.Done():
			}
		},
	}
	tasks.Go(func() {
		if err := supervisor.run(ctx); err != nil {
			giveUp(err)
			failed <- err
		}
	})
	if err := waitReady(ready, address); err != nil {
		return s.withLog(fmt.Errorf("waiting for the operator: %w", context.Cause(ready)))
	}
	return nil
}

// conclude prints the verdict and the figures.
func (s *stage) conclude(p *player) error {
	summary := summarise(p.history)
	summary.Scheduler, summary.OperatorRestarts = s.Scheduler, p.scene.operatorRestarts
	summary.Writes = s.countWrites(p.started)
	summary.print(s.Out)
	if !Held(summary.Findings) {
		return ErrNotHeld
	}
	fmt.Fprintf(s.Out, "\nThe story held on %s.\n", schedulerTitle(s.Scheduler))
	return nil
}

// countWrites is nil without an audit log, which a cluster that was up before need not have.
func (s *stage) countWrites(since time.Time) map[string]int {
	path := s.cluster.AuditLog()
	if path == "" {
		return nil
	}
	log, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer log.Close()
	writes, err := operatorWrites(log, Namespace, since, cast())
	if err != nil {
		fmt.Fprintln(s.Progress, "The operator's writes were not counted:", err)
		return nil
	}
	return writes
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Run brings a cluster up, plays the story on it and judges it. The cluster stays, with operator and server,
// unless Options.Down is set. The error is ErrNotHeld when the story was played to its end and did not hold;
// any other means that it could not be played.
func Run(ctx context.Context, o Options) error {
	if _, known := schedulerKinds()[o.Scheduler]; !known {
		known := slices.Sorted(maps.Keys(schedulerKinds()))
		return fmt.Errorf("unknown scheduler %q; known are %v", o.Scheduler, known)
	}
	if err := o.validatePreemption(); err != nil {
		return err
	}
	for _, binary := range []string{o.Operator, o.Server} {
		if _, err := os.Stat(binary); err != nil {
			return fmt.Errorf("finding a binary: %w; make it with: make build", err)
		}
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	source := clusterSource{
		scheduler: o.Scheduler, progress: o.Progress,
		up: func(ctx context.Context) (*localcluster.Cluster, error) {
			return localcluster.Up(ctx, o.cluster(root))
		},
		serves: func(c *localcluster.Cluster) (bool, error) { return servesScheduler(c, o.Scheduler) },
	}
	cluster, err := source.get(ctx)
	if err != nil {
		return err
	}
	defer cluster.lock.Close()
	s := session{
		Options: o, root: root, cluster: cluster.Cluster,
		operator: newOperator(cluster.LogDir(), o.Operator), server: newServer(cluster.LogDir(), o.Server),
	}
	err = s.perform(ctx)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return errors.Join(err, s.leave(ctx, cluster.found, err))
}

// perform prepares the cluster, starts operator and server, plays and judges.
func (s *session) perform(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	// The supervisors have to end first: they would start again what is stopped.
	defer tasks.Wait()
	defer cancel()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	// Buffered, because the player reads them only once the story begins.
	endings, failed := make(chan ending, 64), make(chan error, 4)
	keepers := keepers{tasks: &tasks, endings: endings, failed: failed}
	if err := s.startOperator(ctx, keepers); err != nil {
		return err
	}
	link, err := s.startServer(ctx, keepers)
	if err != nil {
		return err
	}
	// While the operator runs: it may have to remove finalizers in the namespace.
	if err := renewNamespace(ctx, s.client); err != nil {
		return err
	}
	if err := checkFreeGPUs(ctx, s.client, s.cluster, s.Scheduler); err != nil {
		return err
	}
	story := s.storyFolder()
	for _, folder := range []string{filepath.Dir(story), story} {
		if err := applyAll(ctx, s.client, folder, Namespace, filesOf(Story(s.brokered()))...); err != nil {
			return err
		}
	}
	records := make(chan Record)
	if err := (recorder{s.client, Namespace, records}).start(ctx, failed); err != nil {
		return err
	}
	p := &player{
		acts: Story(s.brokered()), display: newDisplay(s.In, s.Out),
		apply: func(ctx context.Context, file string) error {
			return apply(ctx, s.client, filepath.Join(story, file), Namespace)
		},
		records: records, endings: endings, failed: failed,
		frame: frame{scheduler: s.Scheduler},
	}
	fmt.Fprintf(s.Out, "\nThree gangs of 24 GPUs meet on 4 nodes of 8. %s places them.\n"+
		"In a browser, by a link that logs in once:\n\n  %s\n\n", schedulerTitle(s.Scheduler), link)
	if err := p.play(ctx); err != nil {
		return s.explain(p, err)
	}
	return s.conclude(p)
}

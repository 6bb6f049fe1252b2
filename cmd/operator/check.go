package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

const (
	// checkTimeout is several times what a standby needs to take over from a leader that died.
	checkTimeout = time.Minute
	// checkPeriod is shorter than the period in which a leader renews its lease (controller-runtime: 2 s).
	checkPeriod = time.Second
)

// check that TrainingJobs can be read where the configuration says that they are run, and that an operator
// leads. It changes nothing, and says what it has found.
func check(ctx context.Context, rest *rest.Config, cfg config.OperatorConfiguration, out io.Writer) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	c, err := client.New(rest, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	ticker := time.NewTicker(checkPeriod)
	defer ticker.Stop()
	return checkWith(ctx, c, cfg, ticker.C, out)
}

func checkWith(
	ctx context.Context, c client.Reader, cfg config.OperatorConfiguration, tick <-chan time.Time, out io.Writer,
) error {
	namespaces := cfg.WatchNamespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, name := range namespaces {
		err := c.List(ctx, &v1alpha1.TrainingJobList{}, client.InNamespace(name), client.Limit(1))
		if err != nil {
			return fmt.Errorf("reading TrainingJobs of namespace %q: %w", name, err)
		}
	}
	fmt.Fprintln(out, "TrainingJobs are served, and the operator may read them.")
	if !cfg.LeaderElection.Enabled {
		fmt.Fprintln(out, "Leader election is off, so the check cannot detect whether an operator runs.")
		return nil
	}
	key := client.ObjectKey{Namespace: leaseNamespace(cfg.LeaderElection), Name: leaseName}
	holder, err := awaitLeader(ctx, c, key, tick)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s leads.\n", holder)
	return nil
}

// awaitLeader returns the holder that renews the lease. It compares no clocks, which can differ between
// machines: it waits until the lease changes.
func awaitLeader(
	ctx context.Context, c client.Reader, key client.ObjectKey, tick <-chan time.Time,
) (string, error) {
	problem, before := errors.New("it was never taken"), coordinationv1.Lease{}
	for {
		lease := coordinationv1.Lease{}
		err := c.Get(ctx, key, &lease)
		holder := holderOf(&lease)
		switch {
		case apierrors.IsNotFound(err): // the first leader creates it
		case err != nil:
			problem = err
		case holder == "":
			problem = errors.New("it has no holder")
		case holder == holderOf(&before) && lease.ResourceVersion != before.ResourceVersion:
			return holder, nil
		default:
			problem = fmt.Errorf("%s does not renew it", holder)
		}
		before = lease
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("no operator leads by lease %s, see the logs of its pods: %w", key, problem)
		case <-tick:
		}
	}
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

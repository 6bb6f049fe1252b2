package mlflow

import (
	"context"
	"errors"
	"time"
)

// The lease of the replica that sends. A replica that dies is followed by another one after leaseTime. It is
// longer than leaseRenew and a request together, so that no request is under way when it runs out.
const (
	leaseName  = "mlflow"
	leaseTime  = 60 * time.Second
	leaseRenew = 15 * time.Second
)

// errNotLeading ends the work of a replica that has no lease. It is no failure.
var errNotLeading = errors.New("another replica sends to MLflow")

// lead takes the lease, or renews the one that this replica has, where that is due.
func (e *Exporter) lead(ctx context.Context) error {
	now := e.clock.Now()
	if now.Before(e.renewAt) {
		return nil
	}
	e.renewAt = time.Time{}
	has, err := e.store.AcquireLease(ctx, leaseName, e.holder, now, now.Add(leaseTime))
	switch {
	case err != nil:
		return err
	case !has:
		return errNotLeading
	}
	e.renewAt = now.Add(leaseRenew)
	return nil
}

// resign lets another replica follow at once.
func (e *Exporter) resign(ctx context.Context) {
	if e.renewAt.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := e.store.ReleaseLease(ctx, leaseName, e.holder); err != nil {
		e.log.Info("the lease was not given back, and runs out", "error", err.Error())
	}
}

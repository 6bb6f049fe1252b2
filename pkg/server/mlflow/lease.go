package mlflow

import (
	"context"
	"errors"
	"time"
)

// The lease of the replica that sends. If it dies another one follows after leaseTime, which is longer than
// leaseRenew and a request together: no request is in progress when the lease expires.
const (
	leaseName  = "mlflow"
	leaseTime  = 60 * time.Second
	leaseRenew = 15 * time.Second
)

// errNotLeading stops a replica without the lease. It is not a failure.
var errNotLeading = errors.New("another replica sends to MLflow")

// lead acquires or renews the lease, if that is due.
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

// resign releases the lease, so that another replica follows at once.
func (e *Exporter) resign(ctx context.Context) {
	if e.renewAt.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := e.store.ReleaseLease(ctx, leaseName, e.holder); err != nil {
		e.log.Info("Releasing the lease failed; it expires", "error", err.Error())
	}
}

package reportserver

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookUp reads an object from the caches and reports whether it exists.
func lookUp(ctx context.Context, caches client.Reader, key client.ObjectKey, into client.Object) (bool,
	error) {
	err := caches.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func cachesUnavailable() *rejection {
	return reject(http.StatusServiceUnavailable, resultUnavailable,
		"the operator's caches do not respond: report again").after(retryUnavailable)
}

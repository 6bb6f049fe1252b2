package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Waker enqueues jobs that no event of an object enqueues, with a priority of package turn. turn.Last is for
// all jobs that wait: a gang that a user creates must not wait behind thousands of them.
type Waker interface {
	Wake(ctx context.Context, jobs []types.NamespacedName, priority int)
}

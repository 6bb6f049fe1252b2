package memory

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LiveReader reads from the API server itself, past every cache.
type LiveReader struct {
	client.Reader
	Scheme *runtime.Scheme
}

// Object reads one object, as the type that the informers use for its kind.
func (l LiveReader) Object(
	ctx context.Context, gvk schema.GroupVersionKind, name, namespace string,
) (client.Object, error) {
	obj, err := NewObject(l.Scheme, gvk)
	if err != nil {
		return nil, err
	}
	if err := l.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", gvk.Kind, name, err)
	}
	return obj, nil
}

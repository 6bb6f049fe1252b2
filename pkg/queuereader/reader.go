// Package queuereader answers one question: which of the objects that make up queues may a user list?
//
// It lists every kind of pkg/queues with a client that acts as its caller, for the server and the kubectl
// plugin. A kind that cannot be listed does not affect the others.
package queuereader

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// listsAtOnce is the number of parallel requests of one Read.
const listsAtOnce = 8

// Reader lists the objects of queues.
type Reader struct {
	Client client.Reader
	// Namespace of namespaced objects; empty for all.
	Namespace string
	// Others are namespaces to list one by one if namespaced objects cannot be listed in all at once.
	Others []string
	// Skips reports whether an error skips its kind. Kinds that are not served or not allowed are always
	// skipped. nil: no others.
	Skips func(error) bool
}

// Skipped is a kind that was skipped, or listed only in some namespaces.
type Skipped struct {
	Kind string
	// Err is the cause.
	Err error
	// Partly: the kind was listed in those of the Others that allow it.
	Partly bool
}

// NotServed reports whether the cluster does not serve the kind, and so has no objects of it.
func (s Skipped) NotServed() bool { return notServed(s.Err) }

func notServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// read is one running Read.
type read struct {
	Reader
	mu      sync.Mutex
	objects queues.Objects
	skipped []Skipped
}

// Read lists all kinds. The skipped ones are sorted by kind.
func (r Reader) Read(ctx context.Context) (queues.Objects, []Skipped, error) {
	all := &read{Reader: r}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(listsAtOnce)
	for _, list := range queues.Lists() {
		g.Go(func() error { return all.list(ctx, list) })
	}
	err := g.Wait()
	slices.SortFunc(all.skipped, func(a, b Skipped) int { return cmp.Compare(a.Kind, b.Kind) })
	return all.objects, all.skipped, err
}

// list lists one kind.
func (r *read) list(ctx context.Context, list client.ObjectList) error {
	var in client.InNamespace
	if namespaced(list) {
		in = client.InNamespace(r.Namespace)
	}
	err := r.Client.List(ctx, list, in)
	partly := apierrors.IsForbidden(err) && in == "" && namespaced(list) && r.listEach(ctx, list)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.objects.Add(list)
	case notServed(err), apierrors.IsForbidden(err), r.Skips != nil && r.Skips(err):
		r.skipped = append(r.skipped, Skipped{Kind: KindOf(list), Err: err, Partly: partly})
	default:
		return err
	}
	return nil
}

// listEach lists the other namespaces, and reports whether any allowed it.
func (r *read) listEach(ctx context.Context, list client.ObjectList) bool {
	some := false
	for _, namespace := range r.Others {
		one, ok := reflect.New(reflect.TypeOf(list).Elem()).Interface().(client.ObjectList)
		if !ok || r.Client.List(ctx, one, client.InNamespace(namespace)) != nil {
			continue // the error of the list in all namespaces is reported
		}
		r.mu.Lock()
		r.objects.Add(one)
		r.mu.Unlock()
		some = true
	}
	return some
}

// KindOf returns the kind of the items of a list.
func KindOf(list client.ObjectList) string {
	return strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
}

// namespaced reports whether the items of a list have a namespace.
func namespaced(list client.ObjectList) bool {
	return slices.Contains([]string{"LocalQueue", "ElasticQuota", "ResourceQuota"}, KindOf(list))
}

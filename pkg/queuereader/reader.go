// Package queuereader answers one question: what of the objects that queues are made of may somebody list?
//
// It lists every kind of pkg/queues with a client that acts as its caller, for the server and the kubectl
// plugin. A kind that cannot be listed takes nothing away from the others.
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

// listsAtOnce of one Read.
const listsAtOnce = 8

// Reader of what queues are made of.
type Reader struct {
	Client client.Reader
	// Namespace of which what has one is listed; empty for all.
	Namespace string
	// Others are namespaces that are asked one by one where what has a namespace may not be listed in all.
	Others []string
	// Skips reports whether an error leaves out its kind, beside that it is not served or not allowed. nil: no
	// other does.
	Skips func(error) bool
}

// Skipped is a kind that was left out, or was listed in some namespaces alone.
type Skipped struct {
	Kind string
	// Err is why.
	Err error
	// Partly: it was listed in those of the Others in which it may be.
	Partly bool
}

// NotServed reports whether the cluster does not serve the kind, so that it has no objects of it.
func (s Skipped) NotServed() bool { return notServed(s.Err) }

func notServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// read is one Read that goes on.
type read struct {
	Reader
	mu      sync.Mutex
	objects queues.Objects
	skipped []Skipped
}

// Read lists all kinds. What was skipped is sorted by kind.
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

// list one kind.
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

// listEach of the other namespaces, and reports whether it may list in any.
func (r *read) listEach(ctx context.Context, list client.ObjectList) bool {
	some := false
	for _, namespace := range r.Others {
		one, ok := reflect.New(reflect.TypeOf(list).Elem()).Interface().(client.ObjectList)
		if !ok || r.Client.List(ctx, one, client.InNamespace(namespace)) != nil {
			continue // what may not be listed in any is said with the error of all
		}
		r.mu.Lock()
		r.objects.Add(one)
		r.mu.Unlock()
		some = true
	}
	return some
}

// KindOf the items of a list.
func KindOf(list client.ObjectList) string {
	return strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
}

// namespaced reports whether the items of a list have a namespace.
func namespaced(list client.ObjectList) bool {
	return slices.Contains([]string{"LocalQueue", "ElasticQuota", "ResourceQuota"}, KindOf(list))
}

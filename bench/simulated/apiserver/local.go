package apiserver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Client writes in the process of the server, past HTTP. What it writes is like what others write: it has
// owners of fields, and a line in the audit log.
type Client struct {
	server *Server
	name   string
}

// Client with a name, under which its writes are counted.
func (s *Server) Client(name string) Client { return Client{s, name} }

func (c Client) collection(gvr schema.GroupVersionResource) (*collection, error) {
	if found := c.server.byResource[gvr]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("the server has no %s", gvr)
}

// Create an object.
func (c Client) Create(gvr schema.GroupVersionResource, obj runtime.Object) error {
	to, err := c.collection(gvr)
	if err != nil {
		return err
	}
	o, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("a %T has no metadata", obj)
	}
	_, err = c.server.createObject(to, o.GetNamespace(), obj, c.name)
	c.server.audit.write(c.name, "create", to.resource, "")
	return err
}

// Update lets edit change an object in place, or its status alone. It does nothing where the object is gone,
// or is another one by UID.
func (c Client) Update(gvr schema.GroupVersionResource, subresource string, name types.NamespacedName,
	uid types.UID, edit func(runtime.Object)) error {
	in, err := c.collection(gvr)
	if err != nil {
		return err
	}
	_, err = c.server.changeObject(in, key{name.Namespace, name.Name}, subresource,
		func(had runtime.Object) (runtime.Object, error) {
			obj := had.DeepCopyObject()
			edit(obj)
			if o, ok := obj.(metav1.Object); ok && uid != "" {
				o.SetUID(uid)
			}
			return obj, nil
		},
		func(had, obj runtime.Object) (runtime.Object, error) {
			return c.server.fields.updated(in.resource, subresource, had, obj, c.name), nil
		})
	c.server.audit.write(c.name, "patch", in.resource, subresource)
	return ignoreGone(err)
}

// Delete an object with this UID, or do nothing where it is gone. A nil grace is the object's own.
func (c Client) Delete(
	gvr schema.GroupVersionResource, name types.NamespacedName, uid types.UID, grace *int64,
) error {
	from, err := c.collection(gvr)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &uid}}
	_, _, err = c.server.deleteObject(from, key{name.Namespace, name.Name}, options)
	c.server.audit.write(c.name, "delete", from.resource, "")
	return ignoreGone(err)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Event is a change of an object.
type Event struct {
	Gone   bool
	Object runtime.Object
}

// Follower reads the changes of a resource, from the beginning on. It is for one goroutine.
type Follower struct {
	resource Resource
	initial  []*version
	stream   stream
}

// Follow the objects of a resource.
func (s *Server) Follow(gvr schema.GroupVersionResource) (*Follower, error) {
	c := s.byResource[gvr]
	if c == nil {
		return nil, fmt.Errorf("the server has no %s", gvr)
	}
	all := selector{labels: labels.Everything(), fields: fields.Everything()}
	initial, _, at := c.snapshot(all)
	return &Follower{c.resource, initial, stream{all, at}}, nil
}

// Ready is closed once something can be read.
func (f *Follower) Ready() <-chan struct{} {
	if len(f.initial) == 0 {
		return f.stream.ready()
	}
	now := make(chan struct{})
	close(now)
	return now
}

// Read all that has happened since the last call.
func (f *Follower) Read(ctx context.Context, see func(Event)) error {
	for _, v := range f.initial {
		if err := f.tell(v, false, see); err != nil {
			return err
		}
	}
	f.initial = nil
	for _, e := range f.stream.read() {
		if ctx.Err() != nil {
			return nil
		}
		if err := f.tell(e.version, e.kind == watch.Deleted, see); err != nil {
			return err
		}
	}
	return nil
}

func (f *Follower) tell(v *version, gone bool, see func(Event)) error {
	obj, err := f.resource.decode(v.stored)
	if err != nil {
		return fmt.Errorf("reading a %s: %w", f.resource.Kind.Kind, err)
	}
	see(Event{gone, obj})
	return nil
}

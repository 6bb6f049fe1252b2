package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// stream follows the changes of a collection, as one who means some of its objects sees them.
type stream struct {
	of selector
	at *change
}

// seen is what a change is for a stream.
type seen struct {
	kind    watch.EventType
	version *version
	// whole is the change itself where every reader sees the same.
	whole *change
}

// ready is closed when there is something to read.
func (s *stream) ready() <-chan struct{} { return s.at.ready }

// read what has happened and means something here, without waiting.
func (s *stream) read() []seen {
	var all []seen
	for {
		select {
		case <-s.at.ready:
		default:
			return all
		}
		s.at = s.at.next
		if event, ok := s.see(s.at); ok {
			all = append(all, event)
		}
	}
}

// see tells what a change is for who means some objects: one that begins to be meant is added, one that no
// longer is is deleted.
func (s *stream) see(c *change) (seen, bool) {
	was, is := s.of.matches(c.before), c.kind != watch.Deleted && s.of.matches(c.now)
	switch {
	case is && was:
		return seen{watch.Modified, c.now, sameFor(c, watch.Modified)}, true
	case is:
		return seen{watch.Added, c.now, sameFor(c, watch.Added)}, true
	case was && c.kind == watch.Deleted:
		return seen{watch.Deleted, c.now, c}, true
	case was: // as it was when it was last meant, with the number of the change
		last := *c.before
		last.number = c.now.number
		return seen{watch.Deleted, &last, nil}, true
	}
	return seen{}, false
}

func sameFor(c *change, kind watch.EventType) *change {
	if c.kind == kind {
		return c
	}
	return nil
}

// frame is an event of a watch as it is sent, made by the first who sends it.
type frame struct {
	once  sync.Once
	bytes []byte
	err   error
}

// frameOf an event in a format.
func (r Resource) frameOf(e seen, to format) ([]byte, error) {
	if e.whole == nil {
		return r.encodeOnce(e, to)
	}
	f := &e.whole.sent[to]
	f.once.Do(func() { f.bytes, f.err = r.encodeEvent(e.kind, e.version.stored, to) })
	return f.bytes, f.err
}

// encodeOnce frames an event that only some watchers see so.
func (r Resource) encodeOnce(e seen, to format) ([]byte, error) {
	obj, err := r.decode(e.version.stored)
	if err != nil {
		return nil, err
	}
	v, err := r.newVersion(e.version.key, obj, e.version.number)
	if err != nil {
		return nil, err
	}
	return r.encodeEvent(e.kind, v.stored, to)
}

// encodeEvent frames an object for watchers.
func (r Resource) encodeEvent(kind watch.EventType, stored []byte, to format) ([]byte, error) {
	object, err := r.transcode(stored, to)
	if err != nil {
		return nil, err
	}
	return encodeWatchEvent(string(kind), object, to)
}

func encodeWatchEvent(kind string, object []byte, to format) ([]byte, error) {
	if to == formatJSON {
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"type":%q,"object":`, kind)
		b.Write(bytes.TrimSpace(object))
		b.WriteString("}\n")
		return b.Bytes(), nil
	}
	info := serializers[to].StreamSerializer
	var b bytes.Buffer
	event := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	err := info.Serializer.Encode(event, info.NewFrameWriter(&b))
	return b.Bytes(), err
}

// encodeBookmark tells watchers that they have seen everything up to a resource version.
func (r Resource) encodeBookmark(number string, initialEnd bool, to format) ([]byte, error) {
	obj, err := r.empty()
	if err != nil {
		return nil, err
	}
	accessor, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("a %s has no metadata", r.Kind.Kind)
	}
	accessor.SetResourceVersion(number)
	if initialEnd {
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	object, err := r.encode(obj, to)
	if err != nil {
		return nil, err
	}
	return encodeWatchEvent(string(watch.Bookmark), object, to)
}

// encodeError is the event of a watch that cannot go on.
func encodeError(status *metav1.Status, to format) ([]byte, error) {
	var object []byte
	var err error
	if to == formatJSON {
		object, err = json.Marshal(status)
	} else {
		object, err = runtime.Encode(serializers[to].Serializer, status)
	}
	if err != nil {
		return nil, err
	}
	return encodeWatchEvent(string(watch.Error), object, to)
}

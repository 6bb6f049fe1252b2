package apiserver

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// bookmarkPeriod is the period of bookmarks for watchers that request them, as in a real server.
const bookmarkPeriod = time.Minute

// watcher is a watch under way.
type watcher struct {
	call
	stream
	w         http.ResponseWriter
	flush     func()
	bookmarks bool
}

// watch sends changes until the client has had enough.
func (s *Server) watch(w http.ResponseWriter, c call) error {
	flusher, ok := w.(http.Flusher)
	if !ok {
		return errUnknown{"how to watch over this connection"}
	}
	query := c.request.URL.Query()
	of, err := c.selector()
	if err != nil {
		return err
	}
	watcher := &watcher{
		call: c, stream: stream{of: of}, w: w, flush: flusher.Flush,
		bookmarks: query.Get("allowWatchBookmarks") == "true",
	}
	initial, number, err := watcher.begin(query.Get("resourceVersion"), query.Get("sendInitialEvents"))
	if err != nil {
		return err
	}
	contentType := mediaTypes[c.format]
	if contentType == runtime.ContentTypeProtobuf {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	if err := watcher.sendInitial(initial, number, query.Get("sendInitialEvents") == "true"); err != nil {
		return nil // the client is gone
	}
	timeout := 30*time.Minute + time.Duration(rand.Int64N(int64(30*time.Minute)))
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	watcher.follow(s, timeout)
	return nil
}

// begin finds the state from which changes are sent: that of a resource version, or the present one, whose
// objects are sent first.
func (w *watcher) begin(since, initialEvents string) ([]*version, uint64, error) {
	if initialEvents == "true" || since == "" || since == "0" {
		initial, number, at := w.collection.snapshot(w.of)
		w.at = at
		if initialEvents == "false" {
			initial = nil
		}
		return initial, number, nil
	}
	number, err := strconv.ParseUint(since, 10, 64)
	if err != nil {
		return nil, 0, apierrors.NewBadRequest("resourceVersion " + since + " is no number")
	}
	at, ok := w.collection.since(number)
	if !ok {
		return nil, 0, apierrors.NewResourceExpired("too old resource version: " + since)
	}
	w.at = at
	return nil, number, nil
}

func (w *watcher) sendInitial(initial []*version, number uint64, marked bool) error {
	r := w.collection.resource
	for _, v := range initial {
		event, err := r.encodeEvent(watch.Added, v.stored, w.format)
		if err != nil {
			return err
		}
		if _, err := w.w.Write(event); err != nil {
			return err
		}
	}
	if marked {
		return w.bookmark(number, true)
	}
	w.flush()
	return nil
}

func (w *watcher) bookmark(number uint64, initialEnd bool) error {
	event, err := w.collection.resource.encodeBookmark(strconv.FormatUint(number, 10), initialEnd, w.format)
	if err != nil {
		return err
	}
	if _, err := w.w.Write(event); err != nil {
		return err
	}
	w.flush()
	return nil
}

// follow sends what happens until the client is gone, its time is over, or the server stops.
func (w *watcher) follow(s *Server, timeout time.Duration) {
	over := time.NewTimer(timeout)
	defer over.Stop()
	tick := time.NewTicker(bookmarkPeriod)
	defer tick.Stop()
	for {
		select {
		case <-w.ready():
			if w.send(w.read()) != nil {
				return
			}
		case <-tick.C:
			if w.bookmarks && w.bookmark(w.at.now.number, false) != nil {
				return
			}
		case <-over.C:
			if w.bookmarks {
				_ = w.bookmark(w.at.now.number, false) // the watch starts again in any case
			}
			return
		case <-w.request.Context().Done():
			return
		case <-s.stop:
			return
		}
	}
}

func (w *watcher) send(events []seen) error {
	for _, e := range events {
		frame, err := w.collection.resource.frameOf(e, w.format)
		if err != nil {
			status := apierrors.NewInternalError(err).Status()
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			frame, _ = encodeError(&status, w.format) // a status is always encoded
		}
		if _, err := w.w.Write(frame); err != nil {
			return err
		}
	}
	w.flush()
	return nil
}

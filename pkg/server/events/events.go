// Package events frames server-sent events (HTML standard, section 9.2) and streams other responses.
package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// MediaType of a response that consists of events.
const MediaType = "text/event-stream"

// Writer sends each write to the client immediately. It is not safe for concurrent use.
type Writer struct {
	to         http.ResponseWriter
	controller *http.ResponseController
	timeout    time.Duration
}

// Begin sets the headers of a streamed response and returns its writer. A write fails if the client does not
// accept it within the timeout; 0 leaves the deadline of the connection as it is.
func Begin(w http.ResponseWriter, mediaType string, timeout time.Duration) *Writer {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer it
	return &Writer{w, http.NewResponseController(w), timeout}
}

// Write sends p. The deadline is in the machine's time; if it cannot be set, the server's own applies.
func (w *Writer) Write(p []byte) (int, error) {
	if w.timeout > 0 {
		_ = w.controller.SetWriteDeadline(time.Now().Add(w.timeout))
	}
	n, err := w.to.Write(p)
	if err == nil {
		err = w.controller.Flush()
	}
	return n, err
}

// Event sends an event, with one data field for each line of data. It omits an empty id: the client then
// keeps the previous one. Name and id must not contain line breaks.
func (w *Writer) Event(name, id string, data []byte) error {
	if strings.ContainsAny(name+id, "\r\n") {
		return fmt.Errorf("sending event %q with id %q: line break", name, id)
	}
	message := fmt.Appendf(make([]byte, 0, len(data)+100), "event: %s\n", name)
	if id != "" {
		message = fmt.Appendf(message, "id: %s\n", id)
	}
	if bytes.IndexByte(data, '\r') >= 0 { // ends a line, too
		data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		message = fmt.Appendf(message, "data: %s\n", line)
	}
	if _, err := w.Write(append(message, '\n')); err != nil {
		return fmt.Errorf("sending event %s: %w", name, err)
	}
	return nil
}

// EventJSON sends an event whose data is a value as JSON.
func (w *Writer) EventJSON(name, id string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding event %s: %w", name, err)
	}
	return w.Event(name, id, data)
}

// Comment sends one line that clients ignore, to keep the connection open. Text can be empty.
func (w *Writer) Comment(text string) error {
	if text != "" {
		text = " " + text
	}
	_, err := fmt.Fprintf(w, ":%s\n\n", text)
	return err
}

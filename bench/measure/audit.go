// Package measure observes a cluster from outside, through the API server's audit log, watches and /proc.
package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Writes counts API writes by verb and resource: "create pods", "patch trainingjobs/status".
type Writes = map[string]int

// AuditLog reads an API server's audit log incrementally.
type AuditLog struct {
	path   string
	offset int64
}

// NewAuditLog starts at the current end of the log, with the line that is being written: a file grows page by
// page, so that it may end within a line.
func NewAuditLog(path string) (*AuditLog, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("seeking in the audit log: %w", err)
	}
	tail := make([]byte, min(end, maxLine))
	if _, err := f.ReadAt(tail, end-int64(len(tail))); err != nil {
		return nil, fmt.Errorf("reading the end of the audit log: %w", err)
	}
	whole := bytes.LastIndexByte(tail, '\n') + 1
	if whole == 0 && end > maxLine {
		return nil, fmt.Errorf("the last %d bytes of the audit log %s are no line", maxLine, path)
	}
	return &AuditLog{path: path, offset: end - int64(len(tail)-whole)}, nil
}

// maxLine is more than a line of the log has: it is of writes alone, without what was written.
const maxLine = 1 << 20

// Since returns the writes that were answered since the last call, keyed by the first part of the client's
// user agent ("operator" of "operator/v1"). Rejected writes count too: they cost as much.
func (l *AuditLog) Since() (map[string]Writes, error) {
	byAgent := map[string]Writes{}
	err := l.Each(func(agent string, e *auditv1.Event) {
		if byAgent[agent] == nil {
			byAgent[agent] = Writes{}
		}
		what := e.Verb + " " + e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			what += "/" + e.ObjectRef.Subresource
		}
		byAgent[agent][what]++
	})
	return byAgent, err
}

// Each calls a function for each of the writes that Since would count, with the client that it is of.
func (l *AuditLog) Each(do func(agent string, e *auditv1.Event)) error {
	f, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return fmt.Errorf("seeking in the audit log: %w", err)
	}
	read, err := each(f, do)
	l.offset += read
	return err
}

// each reads complete lines; a line that is still being written is left for the next call.
func each(r io.Reader, do func(agent string, e *auditv1.Event)) (read int64, err error) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return read, nil
		}
		if err != nil {
			return read, fmt.Errorf("reading the audit log: %w", err)
		}
		read += int64(len(line))
		var e auditv1.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return read, fmt.Errorf("reading an audit event: %w", err)
		}
		if e.Stage != auditv1.StageResponseComplete || e.ObjectRef == nil {
			continue
		}
		agent, _, _ := strings.Cut(e.UserAgent, "/")
		do(agent, &e)
	}
}

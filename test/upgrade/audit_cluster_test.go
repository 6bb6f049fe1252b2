//go:build cluster

package upgrade

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// write is one that the API server has accepted, from its audit log. Leases are not logged.
type write struct{ agent, verb, resource, namespace, name string }

func (w write) String() string {
	return fmt.Sprintf("%s %s %s/%s", w.verb, w.resource, w.namespace, w.name)
}

// mark is the place in the audit log where it ends now.
func (s *stage) mark() int64 {
	s.t.Helper()
	info, err := os.Stat(s.cluster.AuditLog())
	if err != nil {
		s.t.Fatal(err)
	}
	return info.Size()
}

// writesSince are those of a release that were answered after a mark.
func (s *stage) writesSince(mark int64, r release) []write {
	s.t.Helper()
	return slices.DeleteFunc(s.allWritesSince(mark), func(w write) bool { return w.agent != r.userAgent() })
}

// allWritesSince are those of everybody.
func (s *stage) allWritesSince(mark int64) []write {
	s.t.Helper()
	log, err := os.Open(s.cluster.AuditLog())
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Seek(mark, io.SeekStart); err != nil {
		s.t.Fatal(err)
	}
	all, err := readWrites(log)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// readWrites leaves a last line that is still being written to the next call.
func readWrites(log io.Reader) (writes []write, err error) {
	for lines := bufio.NewReaderSize(log, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return writes, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var e auditv1.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		const refused = 300
		if e.ObjectRef == nil || e.ResponseStatus == nil || e.ResponseStatus.Code >= refused {
			continue
		}
		agent, _, _ := strings.Cut(e.UserAgent, " ")
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		writes = append(writes, write{agent, e.Verb, resource, e.ObjectRef.Namespace, e.ObjectRef.Name})
	}
}

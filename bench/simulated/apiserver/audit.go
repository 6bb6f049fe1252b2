package apiserver

import (
	"encoding/json"
	"io"
	"sync"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditLog has a line for each write that was answered, in the form of the API server's audit log but with
// little more than who wrote what. Leases are left out, as in that of a local cluster.
type auditLog struct {
	mu sync.Mutex
	to io.Writer
	// lines that were written before, by what they tell.
	lines map[auditKey][]byte
	// failed is the first error, after which nothing is written.
	failed error
}

type auditKey struct{ agent, verb, group, resource, subresource string }

func (l *auditLog) write(agent, verb string, r Resource, subresource string) {
	if r.Plural == "leases" {
		return
	}
	k := auditKey{agent, verb, r.Kind.Group, r.Plural, subresource}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return
	}
	line, ok := l.lines[k]
	if !ok {
		if line, l.failed = k.line(); l.failed != nil {
			return
		}
		if l.lines == nil {
			l.lines = map[auditKey][]byte{}
		}
		l.lines[k] = line
	}
	_, l.failed = l.to.Write(line)
}

func (k auditKey) line() ([]byte, error) {
	text, err := json.Marshal(auditv1.Event{
		Stage: auditv1.StageResponseComplete, Verb: k.verb, UserAgent: k.agent + "/simulated",
		ObjectRef: &auditv1.ObjectReference{APIGroup: k.group, Resource: k.resource, Subresource: k.subresource},
	})
	return append(text, '\n'), err
}

func (l *auditLog) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

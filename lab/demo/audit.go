package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// operatorAgent is the prefix of the operator's user agent.
const operatorAgent = "operator/"

// operatorWrites counts the operator's writes since a time, by job, from an API server's audit log: one
// JSON event per line, without reads. A write belongs to the job whose name is the prefix of its object's
// name, as for pods, groups and events.
func operatorWrites(log io.Reader, namespace string, since time.Time, jobs []string) (map[string]int, error) {
	writes := map[string]int{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return writes, nil // a last line without its end is still being written
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		event := auditv1.Event{}
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if event.ObjectRef == nil || event.ObjectRef.Namespace != namespace ||
			!strings.HasPrefix(event.UserAgent, operatorAgent) || event.RequestReceivedTimestamp.Time.Before(since) {
			continue
		}
		for _, job := range jobs {
			name := event.ObjectRef.Name
			if name == job || strings.HasPrefix(name, job+"-") || strings.HasPrefix(name, job+".") {
				writes[job]++
			}
		}
	}
}

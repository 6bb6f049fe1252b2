package logview

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// logs by rank; a missing rank has no pod.
type logs struct {
	of map[spec.RankRef]string
	// reader replaces them.
	reader io.ReadCloser
	// gate blocks reads until it is closed, if set.
	gate chan struct{}

	mu     sync.Mutex
	asked  []Options
	now    atomic.Int32 // number of open logs
	closed atomic.Int32
}

func (l *logs) Open(_ context.Context, rank spec.RankRef, o Options) (Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, o)
	if l.reader != nil {
		return Log{ReadCloser: l.reader}, nil
	}
	text, has := l.of[rank]
	if !has {
		return Log{}, problem.New(problem.NotFound, "it has no pod", "ask again when the job runs")
	}
	l.now.Add(1)
	return Log{ReadCloser: &opened{strings.NewReader(text), l}}, nil
}

type opened struct {
	*strings.Reader
	of *logs
}

func (o *opened) Read(p []byte) (int, error) {
	if o.of.gate != nil {
		<-o.of.gate
	}
	return o.Reader.Read(p)
}

func (o *opened) Close() error {
	o.of.now.Add(-1)
	o.of.closed.Add(1)
	return nil
}

func worker(i int32) spec.RankRef { return spec.RankRef{Role: v1alpha1.RoleWorker, Index: i} }

func jobOf(workers int32) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "bert"},
		Spec:       v1alpha1.TrainingJobSpec{Replicas: &workers},
	}
}

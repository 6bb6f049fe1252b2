package controller

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

func monitored() *v1alpha1.TrainingJob {
	job := bert(2)
	job.Spec.Monitoring = &v1alpha1.MonitoringSpec{}
	return job
}

func TestMonitorIsMadeOnce(t *testing.T) {
	f := newFixture(t, monitored())
	f.wants("queued", queued...)
	f.wants("the PodMonitor comes before the pods", slices.Insert(slices.Clone(created), 2,
		"create PodMonitor bert")...)
	f.sync()
	f.restart()
	f.sync()
	f.wants("another operator writes nothing")
}

// TestNoTrainingWaitsForItsMonitor: the ranks start also if the cluster serves no PodMonitors, rejects them,
// or has a foreign one of that name.
func TestNoTrainingWaitsForItsMonitor(t *testing.T) {
	for name, rejected := range map[string]error{
		"not served": &meta.NoKindMatchError{GroupKind: render.PodMonitorKind.GroupKind()},
		"forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "podmonitors"}, "bert",
			errQuotaOfStorage),
	} {
		f := newFixture(t, monitored())
		f.wants("queued", queued...)
		f.reject = func(write string) error {
			if strings.HasPrefix(write, "create PodMonitor") {
				return rejected
			}
			return nil
		}
		f.wants(name, slices.Insert(slices.Clone(created), 2, "create PodMonitor bert: rejected")...)
	}
	former := monitored()
	former.UID = "uid-former"
	f := newFixture(t, monitored(), render.PodMonitor(former))
	f.wants("queued", queued...)
	f.wants("it is left alone", created...)
}

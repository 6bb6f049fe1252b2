//go:build cluster

package conformance

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/fake"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// dialect is one scheduler as the suite sees it.
type dialect struct {
	name      string
	backend   scheduler.Backend
	faculties Faculties
	// named: jobs name it in their spec; else it is the operator's default.
	named bool
	// marksPods: it writes PodScheduled=False on pods that it has tried and could not place.
	marksPods bool
	// queue is an object that makes a queue with a quota of GPUs; nil without LimitsQueues.
	queue func(name string, gpus string) client.Object
	// habits of the fake, nil for real schedulers.
	habits *fake.Habits
	// patience with one step; 0: stepTimeout.
	patience time.Duration
}

func volcanoDialect() *dialect {
	return &dialect{
		name: volcano.Name, backend: volcano.New(volcano.DefaultOptions()), faculties: OnVolcano(),
		named: true, marksPods: true, queue: volcanoQueue,
	}
}

func nativeDialect() *dialect {
	return &dialect{
		name: native.Name, backend: native.New(native.Options{}), faculties: OnNative(), named: true, marksPods: true,
	}
}

func coschedulingDialect() *dialect {
	return &dialect{
		name: coscheduling.Name, backend: coscheduling.New(coscheduling.Options{}), faculties: OnCoscheduling(), named: true, marksPods: true,
	}
}

// fakeDialect with mutants and options; the options change what it can do.
func fakeDialect(h fake.Habits) *dialect {
	d := &dialect{name: fake.Name, backend: fake.Backend{}, faculties: OnFake(), habits: &h}
	for _, o := range h.Options {
		d.name += "+" + string(o)
		switch o {
		case fake.EvictsPart:
			d.faculties = d.faculties.With(PreemptsWhole, false, "option EvictsPart")
		case fake.InvitesAll:
			d.faculties = d.faculties.With(HoldsPods, false, "option InvitesAll")
		}
	}
	return d
}

func volcanoQueue(name, gpus string) client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
		"spec": map[string]any{"reclaimable": true, "weight": int64(1), "capability": map[string]any{string(GPU): gpus}},
	}}
	u.SetName(name)
	return u
}

// judged says what is missing to show that the scheduler has looked at the gang and decided to let it wait: its word on
// the group, about this attempt, and where the gang's pods exist the mark that it leaves on those it could not place.
func (d *dialect) judged(v *view, job *v1alpha1.TrainingJob) string {
	if job == nil {
		return "there is no such job"
	}
	attempt := job.Status.Attempt
	var pods, marked int
	for _, p := range v.podsOf(job.Name) {
		if AttemptOf(p) != attempt {
			continue
		}
		pods++
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				marked++
			}
		}
	}
	gang := trainingjob.NewGang(job, attempt, pods > 0)
	gang.Refusals = trainingjob.Refusals(v.podsOf(job.Name), attempt)
	verdict := d.backend.Read(gang, v.groupsOf(job.Name))
	switch {
	case !verdict.Judged || verdict.Reason == "":
		return strings.TrimSpace("the scheduler has not said that the gang must wait: " + verdict.Message)
	case pods == 0 && !d.faculties[HoldsPods].Has:
		return "the gang has no pods, and this scheduler judges pods"
	case pods > 0 && d.marksPods && marked == 0:
		return "the scheduler has tried none of the gang's pods"
	}
	return ""
}

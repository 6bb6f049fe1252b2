package main

import (
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// newBackends returns the backends in order of preference: a job that names no scheduler gets the first one
// that the cluster serves. A cluster with Volcano has it for gangs. The Kubernetes scheduler preempts entire
// gangs; scheduler-plugins does not.
func newBackends(c config.Schedulers) []scheduler.Backend {
	return []scheduler.Backend{
		newVolcano(c.Volcano),
		newKueue(c),
		newNative(c.Native),
		newCoscheduling(c.Coscheduling),
	}
}

func newVolcano(c config.Volcano) scheduler.Backend {
	return volcano.New(volcano.Options{WaitForInqueue: c.WaitForInqueue, SchedulerName: c.SchedulerName})
}

func newKueue(c config.Schedulers) scheduler.Backend {
	return kueue.New(kueue.Options{
		Binder: kueueBinder(c), ManageJobsWithoutQueueName: c.Kueue.ManageJobsWithoutQueueName,
	})
}

// kueueBinder places the pods that Kueue has admitted; nil is the cluster's default scheduler.
func kueueBinder(c config.Schedulers) scheduler.Backend {
	switch c.Kueue.Binder {
	case config.BinderNative:
		return newNative(c.Native)
	case config.BinderCoscheduling:
		return newCoscheduling(c.Coscheduling)
	}
	return nil
}

func newNative(c config.Native) scheduler.Backend {
	return native.New(native.Options{SchedulerName: c.SchedulerName})
}

func newCoscheduling(c config.Coscheduling) scheduler.Backend {
	return coscheduling.New(coscheduling.Options{SchedulerName: c.SchedulerName})
}

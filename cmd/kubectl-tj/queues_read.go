package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queuereader"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// foundQueues are the queues that the user may list, with what was left out.
type foundQueues struct {
	queues    []queues.Queue
	skipped   []queuereader.Skipped
	namespace string
	// noJobs is why no job could be listed; nil: the jobs are there.
	noJobs error
	// fewJobs is why only the namespace's jobs could be listed; nil: those of all namespaces are there.
	fewJobs error
}

// readQueues reads the queues of a cluster. It counts all jobs that the user may list, because jobs of all
// namespaces share the cluster's queues.
func readQueues(ctx context.Context, c connected, allNamespaces bool) (foundQueues, error) {
	found := foundQueues{namespace: c.namespace}
	jobs, err := found.jobs(ctx, c)
	if err != nil {
		return foundQueues{}, err
	}
	r := queuereader.Reader{Client: c, Others: []string{c.namespace}}
	if !allNamespaces {
		r.Namespace = c.namespace
	}
	objects, skipped, err := r.Read(ctx)
	if err != nil {
		return foundQueues{}, codedError{exitError, clusterError{err, remedy(err, "list", c.namespace)}}
	}
	found.queues, found.skipped = queues.Of(objects, jobs), skipped
	if found.queues == nil {
		found.queues = []queues.Queue{}
	}
	return found, nil
}

// jobs of all namespaces, or of the current one if the user may list no others.
func (f *foundQueues) jobs(ctx context.Context, c connected) ([]v1alpha1.TrainingJob, error) {
	list := &v1alpha1.TrainingJobList{}
	err := c.List(ctx, list)
	if apierrors.IsForbidden(err) {
		f.fewJobs = err
		err = c.List(ctx, list, client.InNamespace(c.namespace))
	}
	switch {
	case apierrors.IsForbidden(err), notServed(err):
		f.fewJobs, f.noJobs = nil, err
	case err != nil:
		return nil, failed(err, "list", c.namespace)
	}
	return list.Items, nil
}

// unreadable is what was left out, as the server returns it; without kinds that the cluster does not serve.
func (f *foundQueues) unreadable() []queues.Unreadable {
	var all []queues.Unreadable
	for _, s := range f.skipped {
		if !s.NotServed() {
			all = append(all, queues.Unreadable{Kind: s.Kind, Detail: s.Err.Error(), Remedy: rightTo(s.Kind)})
		}
	}
	for _, err := range []error{f.fewJobs, f.noJobs} {
		if err != nil {
			all = append(all, queues.Unreadable{
				Kind: "TrainingJob", Detail: err.Error(), Remedy: remedy(err, "list", f.namespace),
			})
		}
	}
	slices.SortFunc(all, func(a, b queues.Unreadable) int { return strings.Compare(a.Kind, b.Kind) })
	return all
}

func rightTo(kind string) string {
	return "Ask an admin of the cluster for the right to list " + kind + "s."
}

// printNotes prints what was left out, and why.
func (f *foundQueues) printNotes(w io.Writer) {
	var absent, forbidden, partly []string
	for _, s := range f.skipped {
		switch {
		case s.NotServed():
			absent = append(absent, s.Kind)
		case s.Partly:
			partly = append(partly, s.Kind)
		default:
			forbidden = append(forbidden, s.Kind)
		}
	}
	only := fmt.Sprintf("only for namespace %s, the only one in which you may list them", f.namespace)
	note(w, "the cluster does not serve", absent)
	note(w, "not shown because you may not list them", forbidden)
	note(w, "shown "+only, partly)
	switch {
	case f.fewJobs != nil:
		note(w, "counted "+only, []string{"TrainingJob"})
	case f.noJobs != nil && notServed(f.noJobs):
		note(w, "the waiting jobs are unknown because the cluster does not serve them", []string{"TrainingJob"})
	case f.noJobs != nil:
		note(w, "the waiting jobs are unknown because you may not list them", []string{"TrainingJob"})
	}
}

func note(w io.Writer, what string, kinds []string) {
	if len(kinds) == 0 {
		return
	}
	const indent = "    "
	text := fmt.Sprintf("note: %s: %s", what, strings.Join(kinds, ", "))
	for i, line := range wrapped(text, columns-len(indent)) {
		if i > 0 {
			line = indent + line
		}
		fmt.Fprintln(w, line)
	}
}

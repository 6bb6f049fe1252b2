package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // logins of kubeconfigs, as in kubectl
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// Limits of the requests to the API server: a command sends one for each kind and API group.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// cluster that a command reads, chosen by kubectl's flags.
type cluster struct {
	flags *genericclioptions.ConfigFlags
}

func newCluster(flags *pflag.FlagSet) cluster {
	f := genericclioptions.NewConfigFlags(true)
	f.CacheDir = nil // a command requests only the API groups that it needs
	f.AddFlags(flags)
	return cluster{f}
}

// connected is a cluster with the namespace that the flags and the kubeconfig name.
type connected struct {
	client.WithWatch
	namespace string
}

func (c cluster) connect(s streams) (connected, error) {
	namespace, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return connected{}, codedError{exitError, fmt.Errorf("reading the kubeconfig: %w", err)}
	}
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return connected{}, codedError{exitError, fmt.Errorf("reading the kubeconfig: %w", err)}
	}
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.WarningHandler = rest.NewWarningWriter(s.err, rest.WarningWriterOptions{Deduplicate: true})
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), queues.AddToScheme(scheme)); err != nil {
		return connected{}, codedError{exitError, err}
	}
	to, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return connected{}, codedError{exitError, fmt.Errorf("connecting to the cluster: %w", err)}
	}
	return connected{to, namespace}, nil
}

// job returns the job of a name in the namespace.
func (c connected) job(ctx context.Context, name string) (*v1alpha1.TrainingJob, error) {
	job := &v1alpha1.TrainingJob{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, job); err != nil {
		return nil, failed(err, "get", c.namespace)
	}
	return job, nil
}

// rehearsals returns the rehearsals of a job of the namespace.
func (c connected) rehearsals(ctx context.Context, of string) ([]*v1alpha1.TrainingJob, error) {
	list := &v1alpha1.TrainingJobList{}
	err := c.List(ctx, list, client.InNamespace(c.namespace),
		client.MatchingLabels{v1alpha1.LabelRehearsalOf: of})
	if err != nil {
		return nil, failed(err, "list", c.namespace)
	}
	var all []*v1alpha1.TrainingJob
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// names returns the names of the namespace's jobs that begin with a prefix.
func (c connected) names(ctx context.Context, prefix string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("TrainingJobList"))
	if err := c.List(ctx, list, client.InNamespace(c.namespace)); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		if name := list.Items[i].Name; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// readJob returns the only TrainingJob of a file, or of stdin for -. Other objects are ignored.
func readJob(path string, stdin io.Reader) (*v1alpha1.TrainingJob, error) {
	data, name, err := readFile(path, stdin)
	if err != nil {
		return nil, err
	}
	if len(data) > convert.MaxBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", name, convert.MaxBytes)
	}
	var found []*v1alpha1.TrainingJob
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		job, err := jobOf(part, err)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, number, err)
		}
		if job != nil {
			found = append(found, job)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s has %s: give a file with one", name, count(len(found), "TrainingJob"))
	}
	return found[0], nil
}

// jobOf decodes a document; nil if it is no TrainingJob.
func jobOf(document []byte, err error) (*v1alpha1.TrainingJob, error) {
	var kind metav1.TypeMeta
	if err == nil {
		err = yaml.Unmarshal(document, &kind)
	}
	group, _, _ := strings.Cut(kind.APIVersion, "/")
	if err != nil || kind.Kind != "TrainingJob" || group != v1alpha1.GroupVersion.Group {
		return nil, err
	}
	if kind.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("unknown version %s: use %s", kind.APIVersion, v1alpha1.GroupVersion)
	}
	job := &v1alpha1.TrainingJob{}
	if err := yaml.UnmarshalStrict(document, job); err != nil {
		return nil, err
	}
	withDefaults(job)
	return job, nil
}

// withDefaults sets the default that the API server writes into pod templates, so that the revision of a file
// equals that of the job in the cluster.
func withDefaults(job *v1alpha1.TrainingJob) {
	for _, role := range job.Spec.ReplicaSpecs {
		for _, containers := range [][]corev1.Container{
			role.Template.Spec.InitContainers, role.Template.Spec.Containers,
		} {
			for i := range containers {
				for j := range containers[i].Ports {
					if port := &containers[i].Ports[j]; port.Protocol == "" {
						port.Protocol = corev1.ProtocolTCP
					}
				}
			}
		}
	}
}

// gone waits until the cluster has no job of the name.
func (c connected) gone(ctx context.Context, name string) error {
	isGone := func(ctx context.Context) (bool, error) {
		_, err := c.job(ctx, name)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	}
	err := wait.PollUntilContextTimeout(ctx, goneEvery, goneWithin, true, isGone)
	if wait.Interrupted(err) {
		return codedError{exitError, fmt.Errorf("%s is still being deleted: wait until kubectl get trainingjob "+
			"%[1]s -n %s finds nothing, and rehearse again", name, c.namespace)}
	}
	return err
}

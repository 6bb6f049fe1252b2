package stack

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// KueueJobSet runs gangs as JobSets with one Job, admitted by Kueue and bound pod by pod by kube-scheduler.
type KueueJobSet struct{ KueueJob }

// Describe implements Renderer.
func (s KueueJobSet) Describe() result.Stack {
	return result.Stack{
		Name: "kueue-jobset", Title: "Kueue and JobSet", Floor: "raw/kueue",
		Versions: versionsOf(components.Kueue, components.JobSet, components.Kubernetes),
		Settings: join(s.Profile.kueue(), s.Profile.jobSet(), kubernetesPrograms()),
	}
}

// Cluster implements Renderer.
func (s KueueJobSet) Cluster(options *localcluster.Options) {
	s.KueueJob.Cluster(options)
	options.AddOns = []string{localcluster.AddOnJobSet}
	options.Limits[localcluster.ProcessJobSet] = s.Profile.limits(localcluster.ProcessJobSet)
}

// Render implements Renderer. The Job has no second try, so that the failure of one rank restarts the whole
// set: ranks do not train without each other.
func (s KueueJobSet) Render(namespace string, g workload.Gang) []client.Object {
	job := indexedJob(g, 0)
	return []client.Object{&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2",
		"kind":       "JobSet",
		"metadata": map[string]any{
			"name": g.Name, "namespace": namespace, "labels": map[string]any{labelQueue: queueName},
		},
		"spec": map[string]any{
			"failurePolicy": map[string]any{"maxRestarts": int64(maxRestarts)},
			"replicatedJobs": []any{map[string]any{
				"name":     "workers",
				"replicas": int64(1),
				"template": map[string]any{"spec": content(&job)},
			}},
		},
	}}}
}

// content is a part of an object that is sent unstructured.
func content(part any) map[string]any {
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part)
	if err != nil {
		panic(err) // it fails on types that JSON cannot have, and part is one of Kubernetes' own
	}
	return converted
}

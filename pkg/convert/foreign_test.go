package convert_test

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// TestForeignJobsAreErrors: an object that starts pods is never printed, since kubectl would start it next to
// the TrainingJobs.
func TestForeignJobsAreErrors(t *testing.T) {
	const (
		pods     = "containers: [{name: c, image: i}]"
		template = "spec: {template: {spec: {" + pods + "}}}"
		remedy   = "remove it from the input"
	)
	cases := map[string]struct{ apiVersion, kind, rest, want string }{
		// Kinds of job systems, whatever their specification says.
		"CronJob": {
			"batch/v1", "CronJob", "",
			"kind: batch/v1 CronJob cannot be converted, and kubectl apply",
		},
		"TrainJob of another version": {"trainer.kubeflow.org/v2", "TrainJob", "", "TrainJob"},
		"JobSet of another version":   {"jobset.x-k8s.io/v1alpha1", "JobSet", "", "JobSet"},
		"RayJob": {
			"ray.io/v1", "RayJob", "",
			"kind: a RayJob is a Ray cluster with a driver, not a gang",
		},
		"RayCluster": {"ray.io/v1", "RayCluster", "", "leave it to KubeRay"},
		"RayService": {"ray.io/v1", "RayService", "", "leave it to KubeRay"},
		"Ray of a new kind": {
			"ray.io/v2", "RayCronJob", "", "leave it to KubeRay",
		},
		"PaddleJob":       {"kubeflow.org/v1", "PaddleJob", "", "PaddleJob"},
		"Notebook":        {"kubeflow.org/v1", "Notebook", template, "Notebook"},
		"Volcano CronJob": {"batch.volcano.sh/v1alpha1", "CronJob", "", "CronJob"},
		"JobFlow":         {"flow.volcano.sh/v1alpha1", "JobFlow", "spec: {flows: [{name: a}]}", "JobFlow cannot"},
		// Their specification has no list of containers.
		"Spark": {
			"sparkoperator.k8s.io/v1beta2", "SparkApplication", "spec: {image: i, driver: {cores: 1}}",
			"SparkApplication cannot be converted",
		},
		"scheduled Spark":  {"sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", "", "ScheduledSpark"},
		"Flink":            {"flink.apache.org/v1beta1", "FlinkDeployment", "spec: {image: i}", "FlinkDeployment"},
		"Tekton run":       {"tekton.dev/v1", "PipelineRun", "spec: {pipelineRef: {name: p}}", "PipelineRun"},
		"Tekton task run":  {"tekton.dev/v1", "TaskRun", "spec: {taskRef: {name: t}}", "TaskRun"},
		"model server":     {"serving.kserve.io/v1beta1", "InferenceService", "spec: {model: {}}", "Infer"},
		"virtual machine":  {"kubevirt.io/v1", "VirtualMachine", "spec: {running: true}", "VirtualMachine"},
		"pipeline":         {"pipelines.kubeflow.org/v2beta1", "Pipeline", "", "Pipeline"},
		"scheduled":        {"kubeflow.org/v1beta1", "ScheduledWorkflow", "", "ScheduledWorkflow"},
		"Experiment":       {"kubeflow.org/v1beta1", "Experiment", "", "Experiment"},
		"Dask":             {"kubernetes.dask.org/v1", "DaskCluster", "", "DaskCluster"},
		"Flyte":            {"flyte.lyft.com/v1alpha1", "FlyteWorkflow", "", "FlyteWorkflow"},
		"model workspace":  {"kaito.sh/v1beta1", "Workspace", "", "Workspace"},
		"Workflow trigger": {"argoproj.io/v1alpha1", "CronWorkflow", "", "CronWorkflow"},
		"Rollout":          {"argoproj.io/v1alpha1", "Rollout", "", "Rollout"},
		"steps with images": {
			"ci.example.org/v1", "Build", "spec: {steps: [{name: s, image: i, script: make}]}",
			"spec.steps: kubectl apply could start the containers of the Build",
		},
		"LeaderWorkerSet": {"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "", "LeaderWorkerSet"},
		"Argo Workflow":   {"argoproj.io/v1alpha1", "Workflow", "", "Workflow"},
		"PodCliqueSet":    {"grove.io/v1alpha1", "PodCliqueSet", "", "PodCliqueSet"},
		"AppWrapper":      {"workload.codeflare.dev/v1beta2", "AppWrapper", "", "AppWrapper"},
		// Kinds that run containers.
		"Pod": {
			"v1", "Pod", "spec: {" + pods + "}",
			"spec.containers: kubectl apply could start the containers",
		},
		"Deployment":  {"apps/v1", "Deployment", template, "spec.template.spec.containers: kubectl apply could"},
		"StatefulSet": {"apps/v1", "StatefulSet", template, "of the StatefulSet"},
		"DaemonSet":   {"apps/v1", "DaemonSet", template, "of the DaemonSet"},
		"ReplicaSet":  {"apps/v1", "ReplicaSet", template, "of the ReplicaSet"},
		"ReplicationController": {
			"v1", "ReplicationController", template, "of the ReplicationController",
		},
		"Knative Service": {"serving.knative.dev/v1", "Service", template, "of the Service"},
		"unknown kind": {
			"example.org/v1", "Trainer", "spec: {roles: [{pods: 2, template: {spec: {" + pods + "}}}]}",
			"spec.roles[0].template.spec.containers: kubectl apply could start the containers of the Trainer",
		},
		"no key template": {
			"example.org/v1", "Predictor", "spec: {predictor: {" + pods + "}}",
			"spec.predictor.containers",
		},
		"objects in an object": {
			"work.open-cluster-management.io/v1", "ManifestWork",
			"spec: {workload: {manifests: [{apiVersion: apps/v1, kind: Deployment, " + template + "}]}}",
			"spec.workload.manifests[0].spec.template.spec.containers",
		},
	}
	if len(cases) < 40 {
		t.Errorf("only %d kinds", len(cases))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			doc := "apiVersion: " + c.apiVersion + "\nkind: " + c.kind + "\nmetadata: {name: a}\n" + c.rest
			docs, err := convert.Split([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			result, err := convert.Convert(docs[0], convert.Options{})
			var problems convert.Errors
			if !errors.As(err, &problems) || len(problems) != 1 || len(result.Objects) > 0 {
				t.Fatalf("%v, error %v: want one error", result, err)
			}
			for _, want := range []string{c.want, remedy} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q: want %q", err, want)
				}
			}
		})
	}
}

// TestPassThrough: an object that runs nothing stays as it is.
func TestPassThrough(t *testing.T) {
	const already = "is a TrainingJob already: it is passed through as it is"
	cases := map[string]struct{ object, warning string }{
		"ConfigMap": {
			"apiVersion: v1\ndata:\n  containers: '[{image: i}]'\nkind: ConfigMap\nmetadata:\n  name: a\n",
			"kind: ConfigMap is no job of another system: it is passed through as it is",
		},
		"Secret": {
			"apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  a: b\n",
			"kind: Secret is no job",
		},
		"Service": {
			"apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  clusterIP: None\n",
			"kind: Service is no",
		},
		"claim": {
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: a\n  ownerReferences:\n  - apiVersion: " +
				"batch/v1\n    kind: Job\n    name: a\n    uid: u\n", "kind: PersistentVolumeClaim is no job",
		},
		"queue": {
			"apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  name: a\n",
			"kind: LocalQueue is no job",
		},
		"the schema of a kind with containers": {
			"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  template:\n" +
				"    properties:\n      containers:\n        items:\n          type: object\n" +
				"        type: array\n    required:\n    - containers\n", "kind: CustomResourceDefinition is no job",
		},
		"TrainingJob": {
			"apiVersion: mlplatform.example.com/v1alpha1\nkind: TrainingJob\nmetadata:\n  name: a\nspec:\n" +
				"  replicaSpecs:\n    Worker:\n      template:\n        spec:\n          containers:\n" +
				"          - image: i\n            name: trainer\n", "kind: " + already,
		},
		"what a controller has observed": {
			"apiVersion: example.org/v1\nkind: Policy\nmetadata:\n  name: a\nstatus:\n  containers:\n  - name: c\n",
			"kind: Policy is no job",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			docs, err := convert.Split([]byte(c.object))
			if err != nil {
				t.Fatal(err)
			}
			result, err := convert.Convert(docs[0], convert.Options{})
			if err != nil || len(result.Warnings) != 1 ||
				!strings.HasPrefix(result.Warnings[0].String(), c.warning) {
				t.Fatalf("%v, %v: want the warning %q", result, err, c.warning)
			}
			text, err := yaml.Marshal(result.Objects[0])
			if string(text) != c.object {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

package convert_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// TestTrainJobs: what a TrainJob says of its runtime is merged as Kubeflow Trainer does.
func TestTrainJobs(t *testing.T) {
	torch := "  runtimeRef: {name: torch-distributed}\n"
	trainer := func(rest string) string { return trainHead + torch + "  trainer: {" + rest + "}\n" }
	patch := func(manager, spec string) string {
		return trainer("numNodes: 2") + "  runtimePatches: [{manager: " + manager + ", trainingRuntimeSpec: " +
			"{template: {spec: {replicatedJobs: [" + spec + "]}}}}]\n"
	}
	podPatch := func(job, pod string) string {
		return "{name: " + job + ", template: {spec: {template: {spec: {" + pod + "}}}}}"
	}
	own := func(policy, rest string) string {
		return trainHead + "  runtimeRef: {name: own}\n" + rest +
			"---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n" +
			"metadata: {name: own}\nspec: {" + policy + "template: {spec: {" +
			"replicatedJobs: [{name: node, template: {metadata: {labels: " +
			"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: " +
			"[{name: side, image: s}, {name: node, image: i, resources: {limits: {cpu: 3}}}]}}}}}]}}}\n"
	}
	resources := func(limits string) string { return "resourcesPerNode: {limits: {" + limits + "}}" }
	cases := map[string]conversionCase{
		"processes by GPUs": {"auto", trainer(resources("nvidia.com/gpu: 8")), "value: auto", "", ""},
		"processes by CPUs": {"rounded up", trainer(resources("cpu: 2500m")), `value: "3"`, "", ""},
		"processes":         {"as they are given", trainer("numProcPerNode: 5"), `value: "5"`, "", ""},
		"resources are merged": {
			"by name", own("mlPolicy: {torch: {}}, ", "  trainer: {"+resources("memory: 1Gi")+"}\n"),
			"cpu: \"3\"\n                memory: 1Gi", "", "",
		},
		"container that trains": {
			"it is called node", own("mlPolicy: {torch: {}}, ", ""), "name: trainer",
			"node is the main container: it is renamed to trainer", "",
		},
		"no policy": {"custom", own("", ""), "framework: custom", "", ""},
		"two policies": {
			"one framework", own("mlPolicy: {torch: {}, jax: {}}, ", ""), "", "",
			"[pytorch jax] are given together: keep one",
		},
		"workers of XGBoost": {
			"one for each GPU", own("mlPolicy: {xgboost: {}}, ", "  trainer: {"+resources("nvidia.com/gpu: 4")+"}\n"),
			"", "", "each of the 4 GPUs of a node is a worker there",
		},
		"coscheduling": {
			"60 s", own("podGroupPolicy: {coscheduling: {}}, ", ""), "scheduleTimeoutSeconds: 60", "", "",
		},
		"tier": {
			"a number is of one cluster", own("podGroupPolicy: {volcano: {networkTopology: {mode: hard, "+
				"highestTierAllowed: 1}}}, ", ""), "", "", "write the key of the tier's node label as highestTierName",
		},
		"variables": {
			"Trainer refuses them", trainer("env: [{name: PET_NNODES, value: '2'}]"), "", "",
			"spec.trainer.env[0]: the operator sets PET_NNODES, as Kubeflow Trainer does: remove it",
		},
		"unknown runtime": {
			"it must be given", trainHead + "  runtimeRef: {name: none}\n", "", "",
			"the input has no ClusterTrainingRuntime none: add it with a second -f, from `kubectl get " +
				"clustertrainingruntime none -o yaml`. convert itself knows the ClusterTrainingRuntimes deepspeed-",
		},
		"runtime of a namespace": {
			"no stock one", trainHead + "  runtimeRef: {name: torch-distributed, kind: TrainingRuntime}\n", "", "",
			"the input has no TrainingRuntime torch-distributed",
		},
		"kind of a runtime": {
			"a typing error", trainHead + "  runtimeRef: {name: a, kind: Runtime}\n", "", "",
			`spec.runtimeRef.kind: "Runtime" is no kind of runtime`,
		},
		"two runtimes": {
			"of one name", own("", "") + "---\n" + strings.SplitN(own("mlPolicy: {jax: {}}, ", ""), "---\n", 2)[1],
			"", "", "the input has two different runtimes ClusterTrainingRuntime own: remove one",
		},
		"unused runtime": {
			"it becomes nothing", strings.SplitN(own("", ""), "---\n", 2)[1], "",
			"no TrainJob of the input names this", "",
		},
		"patch": {"of the pods", patch("a.io/b", podPatch("node", "nodeSelector: {a: b}")), "a: b\n", "", ""},
		"Kueue's patch": {
			"it is of one admission", patch("kueue.x-k8s.io/manager", podPatch("node", "nodeSelector: {a: b}")),
			"replicas: 2", "spec.runtimePatches[0]: is left out: Kueue wrote it", "",
		},
		"patch of no job": {
			"a typing error", patch("a.io/b", podPatch("nodes", "nodeSelector: {a: b}")), "", "",
			"spec.replicatedJobs[nodes]: the runtime has no such replicated job",
		},
		"patch of no container": {
			"a typing error", patch("a.io/b", podPatch("node", "containers: [{name: nod}]")), "", "",
			"the runtime has no container nod there",
		},
		"patch of no field": {
			"a typing error", patch("a.io/b", podPatch("node", "nodeSelektor: {a: b}")), "replicas: 2",
			`unknown field "replicatedJobs[0].template.spec.template.spec.nodeSelektor": it is left out`, "",
		},
		"patch that cannot be merged": {
			"a wrong type", patch("a.io/b", podPatch("node", "containers: {a: b}")), "", "", "spec.runtimePatches[0]",
		},
		"torchtune's command": {
			"Trainer completes it", trainer("command: [tune, run]"), "", "", "Kubeflow Trainer appends the recipe",
		},
		"torchtune on two nodes": {
			"another recipe", trainHead + "  runtimeRef: {name: torchtune-llama3.2-1b}\n  trainer: {numNodes: 2}\n",
			"", "", "spec.trainer.numNodes: torchtune needs another recipe on 2 nodes",
		},
		"no initializer": {
			"the runtime has none", trainHead + torch + "  initializer: {model: {storageUri: 's3://a/b'}}\n", "", "",
			"ClusterTrainingRuntime torch-distributed: spec has no container model-initializer",
		},
		"launcher without a command": {
			"its first argument starts the processes", trainHead + "  runtimeRef: {name: deepspeed-distributed}\n" +
				"  trainer: {args: [mpirun, a]}\n", "command:\n            - mpirun", "mpirun becomes the command", "",
		},
		"slots": {
			"as many as GPUs", trainHead + "  runtimeRef: {name: deepspeed-distributed}\n  trainer: {numNodes: 3, " +
				"command: [mpirun, a], resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}\n", "slotsPerWorker: 4", "", "",
		},
	}
	checkConversions(t, cases)
}

// TestVolcanoTopology: Volcano's topology is a preference, a requirement by a node label, or an error.
func TestVolcanoTopology(t *testing.T) {
	job := func(topology string) string {
		return "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec:\n" +
			"  networkTopology: {" + topology + "}\n" +
			"  tasks: [{name: worker, replicas: 2, template: {spec: {restartPolicy: Never, " +
			"containers: [{name: c, image: i}]}}}]\n"
	}
	cases := map[string]conversionCase{
		"soft": {
			"a preference", job("mode: soft, highestTierName: rack"), "key: rack\n        mode: Pack", "", "",
		},
		"soft number": {
			"of one cluster", job("mode: soft, highestTierAllowed: 1"), "mode: Pack", "highestTierAllowed: has no", "",
		},
		"hard": {
			"a requirement", job("highestTierName: rack"), "key: rack\n        mode: Within", "", "",
		},
		"hard number": {
			"of one cluster", job("mode: hard, highestTierAllowed: 1"), "", "",
			"spec.networkTopology.highestTierAllowed: a tier by number",
		},
	}
	checkConversions(t, cases)
}

// TestStockRuntimes: without its runtime, a TrainJob becomes what it becomes with the runtime of Kubeflow
// Trainer's manifests, but for tags of images and probes of sshd.
func TestStockRuntimes(t *testing.T) {
	inputs := []string{
		"e2e-torch", "e2e-jax", "e2e-xgboost", "e2e-deepspeed", "mlx", "torchtune-llama-1b", "torchtune-llama-3b",
		"torchtune-qwen",
	}
	for _, name := range inputs {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/trainjob/" + name + ".in.yaml")
			if err != nil {
				t.Fatal(err)
			}
			docs, err := convert.Split(data)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(docs, func(d convert.Document) bool { return d.Kind == "TrainJob" })
			var results [2]convert.Result
			for j, options := range []convert.Options{{Runtimes: convert.FindRuntimes(docs)}, {}} {
				if results[j], err = convert.Convert(docs[i], options); err != nil {
					t.Fatal(err)
				}
				for _, o := range results[j].Objects {
					withoutTags(o)
				}
			}
			if diff := gocmp.Diff(results[0].Objects, results[1].Objects); diff != "" {
				t.Errorf("(-manifest +stock):\n%s", diff)
			}
		})
	}
}

func withoutTags(o any) {
	var pods []*corev1.PodSpec
	switch o := o.(type) {
	case *v1alpha1.TrainingJob:
		for name, role := range o.Spec.ReplicaSpecs {
			pods = append(pods, &role.Template.Spec)
			defer func() { o.Spec.ReplicaSpecs[name] = role }()
		}
	case *batchv1.Job:
		pods = append(pods, &o.Spec.Template.Spec)
	}
	for _, pod := range pods {
		for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range list {
				list[i].Image = strings.TrimSuffix(list[i].Image, ":v2.3.0")
				list[i].ReadinessProbe = nil
			}
		}
	}
}

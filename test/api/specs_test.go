package api_test

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// spec is one job that the API server (CRD and admission policies) and Validate must judge alike.
type spec struct {
	reason string
	// full starts from a Master and Workers; otherwise from the simple form.
	full bool
	edit func(*v1alpha1.TrainingJob)
	// fields that the rejection names; none if the job is accepted.
	fields []string
	// says is part of both rejections.
	says string
	// goOnly: the API server cannot check it and accepts the job.
	goOnly bool
}

func simple() *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer:1",
			Command: []string{"python", "train.py"}, Replicas: ptr.To[int32](8),
		},
	}
}

func full() *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch,
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
				v1alpha1.RoleMaster: role(1, ""),
				v1alpha1.RoleWorker: role(7, ""),
			},
		},
	}
}

func role(replicas int32, policy v1alpha1.RestartPolicy) v1alpha1.ReplicaSpec {
	return v1alpha1.ReplicaSpec{
		Replicas: &replicas, RestartPolicy: policy,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "pytorch", Image: "trainer:1",
				Command: []string{"python", "train.py"}}},
		}},
	}
}

// editRole changes one role of the full form.
func editRole(name v1alpha1.Role, edit func(*v1alpha1.ReplicaSpec)) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		r := j.Spec.ReplicaSpecs[name]
		edit(&r)
		j.Spec.ReplicaSpecs[name] = r
	}
}

func roles(framework v1alpha1.Framework, replicas map[v1alpha1.Role]int32) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.Framework = framework
		j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
		for name, n := range replicas {
			j.Spec.ReplicaSpecs[name] = role(n, "")
		}
	}
}

func scheduling(edit func(*v1alpha1.SchedulingPolicy)) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { edit(&j.Spec.RunPolicy.SchedulingPolicy) }
}

// queues names the queue in up to three places.
func queues(inSpec, label, annotation string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Queue = inSpec
		j.Labels = map[string]string{v1alpha1.LabelKueueQueue: label}
		j.Annotations = map[string]string{v1alpha1.AnnotationVolcanoQueue: annotation}
	}
}

func gpus(n string) corev1.ResourceList {
	return corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(n)}
}

const (
	minAvailableField = "spec.runPolicy.schedulingPolicy.minAvailable"
	queueField        = "spec.runPolicy.schedulingPolicy.queue"
	queueLabel        = "metadata.labels.kueue.x-k8s.io/queue-name"
	queueAnnotation   = "metadata.annotations.scheduling.volcano.sh/queue-name"
)

func allSpecs() map[string]spec {
	all := map[string]spec{}
	for _, part := range []map[string]spec{formSpecs(), roleSpecs(), restartSpecs(),
		elasticSpecs(), mpiSpecs(), schedulingSpecs(),
		nameSpecs(), podSpecs(), admissionSpecs(), sizeSpecs(), checkpointSpecs(), managedBySpecs(),
		trainerSpecs(), networkSpecs(), roleMinimumSpecs(), mlflowSpecs(),
		livenessSpecs(), rehearsalSpecs(), backfillSpecs()} {
		maps.Copy(all, part)
	}
	return all
}

func formSpecs() map[string]spec {
	return map[string]spec{
		"the simple form": {reason: "the base of the other cases", edit: func(*v1alpha1.TrainingJob) {}},
		"the full form": {reason: "the base of the other cases", full: true,
			edit: func(*v1alpha1.TrainingJob) {}},
		"one rank by default": {
			reason: "replicas has a default, which is the operator's",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = nil },
		},
		"both forms": {
			reason: "which one would be run?", full: true,
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Image, j.Spec.Replicas = "trainer:1", ptr.To[int32](4) },
			fields: []string{"spec.image", "spec.replicas"}, says: "into replicaSpecs, or remove replicaSpecs",
		},
		"a node selector beside roles": {
			reason: "every field of the simple form is named", full: true,
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.NodeSelector = map[string]string{"a": "b"} },
			fields: []string{"spec.nodeSelector"}, says: "simple form",
		},
		"neither form": {
			reason: "nothing to run",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec = v1alpha1.TrainingJobSpec{Framework: v1alpha1.FrameworkPyTorch}
			},
			fields: []string{"spec.image", "spec.command"}, says: "or give spec.replicaSpecs instead",
		},
		"no image": {
			reason: "image is required in the simple form", edit: func(j *v1alpha1.TrainingJob) { j.Spec.Image = "" },
			fields: []string{"spec.image"}, says: "set spec.image",
		},
		"no command": {
			reason: "command is required in the simple form",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Command = nil },
			fields: []string{"spec.command"}, says: "set spec.command",
		},
		"an unknown framework": {
			reason: "it would be accepted and ignored",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Framework = "chainer" },
			fields: []string{"spec.framework"}, says: `supported values: "`,
		},
		"no framework": {
			reason: "it is required", edit: func(j *v1alpha1.TrainingJob) { j.Spec.Framework = "" },
			fields: []string{"spec.framework"}, says: `supported values: "`,
		},
		"replicas 0": {
			reason: "a gang has a rank", edit: func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = ptr.To[int32](0) },
			fields: []string{"spec.replicas"}, says: "1",
		},
		"replicas negative": {
			reason: "a gang has a rank", edit: func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = ptr.To[int32](-2) },
			fields: []string{"spec.replicas"}, says: "1",
		},
		"a million replicas": {
			reason: "a slip of the finger",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = ptr.To[int32](1000000) },
			fields: []string{"spec.replicas"}, says: "10000",
		},
	}
}

func roleSpecs() map[string]spec {
	return map[string]spec{
		"no role": {
			reason: "nothing to run; a typed client does not even send an empty map", full: true,
			edit:   roles(v1alpha1.FrameworkCustom, nil),
			fields: []string{"spec.image", "spec.command"}, says: "or give spec.replicaSpecs instead",
		},
		"an unknown role": {
			reason: "a typo must not become a job without workers", full: true,
			edit:   roles(v1alpha1.FrameworkCustom, map[v1alpha1.Role]int32{"Worker": 1, "worker": 1}),
			fields: []string{"spec.replicaSpecs"}, says: "worker",
		},
		"pytorch with a parameter server": {
			reason: "pytorch's rendezvous has no place for it", full: true,
			edit:   roles(v1alpha1.FrameworkPyTorch, map[v1alpha1.Role]int32{"Worker": 1, "PS": 1}),
			fields: []string{"spec.replicaSpecs"}, says: "Master and Worker",
		},
		"custom with every role but two leaders": {
			reason: "all names are known", full: true,
			edit: roles(v1alpha1.FrameworkCustom, map[v1alpha1.Role]int32{
				"Chief": 1, "Scheduler": 1, "Server": 2, "PS": 2, "Worker": 3, "Evaluator": 1,
			}),
		},
		"pytorch with a Master alone": {
			reason: "one rank is a gang", full: true, edit: roles(v1alpha1.FrameworkPyTorch,
				map[v1alpha1.Role]int32{"Master": 1}),
		},
		"two Masters": {
			reason: "rank 0 is one", full: true, edit: roles(v1alpha1.FrameworkPyTorch,
				map[v1alpha1.Role]int32{"Master": 2, "Worker": 1}),
			fields: []string{"spec.replicaSpecs"}, says: "one leader",
		},
		"a Chief and a Launcher": {
			reason: "whose exit would decide?", full: true,
			edit:   roles(v1alpha1.FrameworkCustom, map[v1alpha1.Role]int32{"Chief": 1, "Launcher": 1}),
			fields: []string{"spec.replicaSpecs"}, says: "one leader",
		},
		"servers alone": {
			reason: "such a job would succeed at once: service roles do not count", full: true,
			edit:   roles(v1alpha1.FrameworkCustom, map[v1alpha1.Role]int32{"PS": 2, "Evaluator": 1}),
			fields: []string{"spec.replicaSpecs"}, says: "add a Worker",
		},
		"tensorflow with all of its roles": {
			reason: "the servers are no leaders", full: true,
			edit: roles(v1alpha1.FrameworkTensorFlow, map[v1alpha1.Role]int32{
				"Chief": 1, "PS": 2, "Worker": 3, "Evaluator": 1,
			}),
		},
		"two Evaluators": {
			reason: "TensorFlow takes one at most", full: true,
			edit:   roles(v1alpha1.FrameworkTensorFlow, map[v1alpha1.Role]int32{"Worker": 1, "Evaluator": 2}),
			fields: []string{"spec.replicaSpecs"}, says: "set its replicas to 1",
		},
		"mxnet with all of its roles": {
			reason: "as MXJobs have them", full: true,
			edit: roles(v1alpha1.FrameworkMXNet, map[v1alpha1.Role]int32{"Scheduler": 1, "Server": 2, "Worker": 3}),
		},
		"two Schedulers": {
			reason: "where would all meet?", full: true,
			edit: roles(v1alpha1.FrameworkMXNet, map[v1alpha1.Role]int32{
				"Scheduler": 2, "Server": 2, "Worker": 3,
			}),
			fields: []string{"spec.replicaSpecs"}, says: "set its replicas to 1",
		},
		"mxnet without a Scheduler": {
			reason: "where would all meet?", full: true,
			edit:   roles(v1alpha1.FrameworkMXNet, map[v1alpha1.Role]int32{"Server": 2, "Worker": 3}),
			fields: []string{"spec.replicaSpecs"}, says: "needs the roles Scheduler, Server and Worker",
		},
		"mxnet in the simple form": {
			reason: "Workers alone cannot meet",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Framework = v1alpha1.FrameworkMXNet },
			fields: []string{"spec.replicaSpecs"}, says: "needs the roles Scheduler, Server and Worker",
		},
		"mxnet with one rank": {
			reason: "it trains alone", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Framework, j.Spec.Replicas = v1alpha1.FrameworkMXNet, nil
			},
		},
		"jax with a Master": {
			reason: "Worker 0 coordinates", full: true,
			edit:   roles(v1alpha1.FrameworkJAX, map[v1alpha1.Role]int32{"Master": 1, "Worker": 1}),
			fields: []string{"spec.replicaSpecs"}, says: "framework jax knows the role Worker",
		},
		"a role with replicas 0": {
			reason: "leave the role out instead", full: true, edit: roles(v1alpha1.FrameworkPyTorch,
				map[v1alpha1.Role]int32{"Master": 1, "Worker": 0}),
			fields: []string{"spec.replicaSpecs.Worker.replicas"}, says: "1",
		},
	}
}

func restartSpecs() map[string]spec {
	policies := func(own, master, worker v1alpha1.RestartPolicy,
		scope v1alpha1.RestartScope) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Spec.RestartPolicy, j.Spec.RunPolicy.RestartScope = own, scope
			j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{"Master": role(1, master),
				"Worker": role(2, worker)}
		}
	}
	return map[string]spec{
		"backoffLimit twice": {
			reason: "which one counts?",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.BackoffLimit, j.Spec.RunPolicy.BackoffLimit = ptr.To[int32](1), ptr.To[int32](1)
			},
			fields: []string{"spec.backoffLimit"}, says: "remove spec.backoffLimit or spec.runPolicy.backoffLimit",
		},
		"backoffLimit 0": {
			reason: "no retry is a choice",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = ptr.To[int32](0) },
		},
		"backoffLimit negative": {
			reason: "means nothing", edit: func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = ptr.To[int32](-1) },
			fields: []string{"spec.backoffLimit"}, says: "0",
		},
		"runPolicy.backoffLimit negative": {
			reason: "means nothing", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.BackoffLimit = ptr.To[int32](-1)
			},
			fields: []string{"spec.runPolicy.backoffLimit"}, says: "0",
		},
		"an unknown restart policy": {
			reason: "it would be ignored", edit: func(j *v1alpha1.TrainingJob) { j.Spec.RestartPolicy = "Sometimes" },
			fields: []string{"spec.restartPolicy"}, says: `supported values: "`,
		},
		"Always": {
			reason: "means restartScope Rank", edit: func(j *v1alpha1.TrainingJob) { j.Spec.RestartPolicy = "Always" },
		},
		"Always under Gang": {
			reason: "a gang restarts as one",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RestartPolicy, j.Spec.RunPolicy.RestartScope = "Always", v1alpha1.ScopeGang
			},
			fields: []string{"spec.runPolicy.restartScope"}, says: "to Rank",
		},
		"a role Always under Gang": {
			reason: "a gang restarts as one; the policies differ too", full: true, edit: policies("",
				"Always", "", v1alpha1.ScopeGang),
			fields: []string{"spec.runPolicy.restartScope", "spec.replicaSpecs"}, says: "to Rank",
		},
		"a role Always, no scope": {
			reason: "Always means Rank, under which policies may differ", full: true, edit: policies("",
				"Always", "Never", ""),
		},
		"spec Always, roles otherwise, no scope": {
			reason: "Always means Rank wherever it stands", full: true, edit: policies("Always", "OnFailure",
				"Never", ""),
		},
		"differing policies": {
			reason: "a gang restarts as one", full: true, edit: policies("", "OnFailure", "Never", ""),
			fields: []string{"spec.replicaSpecs"}, says: "the same restartPolicy",
		},
		"differing from the default": {
			reason: "the default counts too", full: true, edit: policies("", "Never", "", ""),
			fields: []string{"spec.replicaSpecs"}, says: "the same restartPolicy",
		},
		"equal through spec.restartPolicy": {
			reason: "the spec's policy is the roles' default", full: true, edit: policies("Never", "Never", "", ""),
		},
		"differing policies under Rank": {
			reason: "ranks restart singly", full: true, edit: policies("", "OnFailure", "Never", v1alpha1.ScopeRank),
		},
		"an unknown scope": {
			reason: "it would be ignored", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.RestartScope = "Node"
			},
			fields: []string{"spec.runPolicy.restartScope"}, says: `supported values: "`,
		},
		"an unknown cleanPodPolicy": {
			reason: "it would be ignored", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.CleanPodPolicy = "Some"
			},
			fields: []string{"spec.runPolicy.cleanPodPolicy"}, says: `supported values: "`,
		},
		"a negative ttl": {
			reason: "means nothing", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.TTLSecondsAfterFinished = ptr.To[int32](-1)
			},
			fields: []string{"spec.runPolicy.ttlSecondsAfterFinished"}, says: "0",
		},
		"ttl 0": {
			reason: "gone at once", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.TTLSecondsAfterFinished = ptr.To[int32](0)
			},
		},
		"an expected time of 0": {
			reason: "means nothing", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.ExpectedSeconds = ptr.To[int64](0)
			},
			fields: []string{"spec.runPolicy.expectedSeconds"}, says: "1",
		},
		"an expected time of more than a year": {
			reason: "a mistake in the unit", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.ExpectedSeconds = ptr.To[int64](31536001)
			},
			fields: []string{"spec.runPolicy.expectedSeconds"}, says: "31536000",
		},
		"an expected time of a year": {
			reason: "the longest", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.ExpectedSeconds = ptr.To[int64](31536000)
			},
		},
		"a negative deadline": {
			reason: "means nothing", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.ActiveDeadlineSeconds = ptr.To[int64](-1)
			},
			fields: []string{"spec.runPolicy.activeDeadlineSeconds"}, says: "1",
		},
	}
}

func elasticSpecs() map[string]spec {
	elastic := func(least int32, edit ...func(*v1alpha1.TrainingJob)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: least}
			for _, e := range edit {
				e(j)
			}
		}
	}
	first := func(n int32) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr.To(n) }
	}
	const field = "spec.elasticPolicy"
	return map[string]spec{
		"elastic": {reason: "two of eight can train", edit: elastic(2)},
		"elastic, more at first": {
			reason: "a gang may start with more than it needs", edit: elastic(2, first(3)),
		},
		"elastic, fewer at first": {
			reason: "they could not train", edit: elastic(3, first(2)),
			fields: []string{"spec.runPolicy.schedulingPolicy.minAvailable"}, says: "raise minAvailable, or remove it",
		},
		"elastic from 0": {
			reason: "no rank trains", edit: elastic(0), fields: []string{field + ".minReplicas"}, says: "1",
		},
		"elastic beyond the ranks": {
			reason: "it would never start",
			edit:   elastic(9, func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = ptr.To[int32](8) }),
			fields: []string{field}, says: "minReplicas 9 exceeds the 8 ranks: set it to at most 8",
		},
		"elastic under Gang": {
			reason: "any loss would end the attempt",
			edit: elastic(2, func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeGang
			}),
			fields: []string{"spec.runPolicy.restartScope"}, says: "to Rank, or remove spec.elasticPolicy",
		},
		"elastic tensorflow": {
			reason: "TF_CONFIG is fixed",
			edit: elastic(2, func(j *v1alpha1.TrainingJob) {
				j.Spec.Framework = v1alpha1.FrameworkTensorFlow
			}),
			fields: []string{field}, says: "only framework pytorch has an elastic form",
		},
		"elastic with differing policies": {
			reason: "it implies restartScope Rank", full: true,
			edit: elastic(2, func(j *v1alpha1.TrainingJob) {
				j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{
					"Master": role(1, "OnFailure"), "Worker": role(2, "Never"),
				}
			}),
		},
	}
}

// longName returns a name of n characters.
func longName(n int) string { return strings.Repeat("a", n) }

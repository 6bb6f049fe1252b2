package convert_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

const (
	jobSetHead = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n"
	jobHead    = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n"
	trainHead  = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n"
	gang       = "parallelism: 2, completions: 2, backoffLimit: 0"
)

// member is a replicated job whose container runs a command.
func member(name, job, container string) string {
	return fmt.Sprintf("  - {name: %s, template: {spec: {%s, template: {spec: {containers: "+
		"[{name: c, image: i, %s}]}}}}}\n", name, job, container)
}

func jobSetOf(members ...string) string {
	return jobSetHead + "  replicatedJobs:\n" + strings.Join(members, "")
}

// all converts the documents of a file, and returns the results, the warnings and the errors as lines.
func all(t *testing.T, file string) (objects []string, warnings, problems string) {
	t.Helper()
	docs, err := convert.Split([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	options := convert.Options{Runtimes: convert.FindRuntimes(docs)}
	for _, doc := range docs {
		result, err := convert.Convert(doc, options)
		for _, w := range result.Warnings {
			warnings += w.String() + "\n"
		}
		var found convert.Errors
		if errors.As(err, &found) {
			problems += found.Error() + "\n"
		} else if err != nil {
			t.Fatal(err)
		}
		for _, o := range result.Objects {
			text, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, string(text))
		}
	}
	return objects, warnings, problems
}

// conversionCase has what the output, the warnings or the errors of a document contain. Without wanted
// errors there are none.
type conversionCase struct{ reason, document, output, warning, problem string }

func checkConversions(t *testing.T, cases map[string]conversionCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			objects, warnings, problems := all(t, c.document)
			output := strings.Join(objects, "")
			if !strings.Contains(output, c.output) || !strings.Contains(warnings, c.warning) ||
				!strings.Contains(problems, c.problem) || c.problem == "" && problems != "" {
				t.Errorf("%s: want output %q, warning %q, error %q:\n%s\nwarnings: %s\nerrors: %s",
					c.reason, c.output, c.warning, c.problem, output, warnings, problems)
			}
			if problems != "" && len(objects) > 0 {
				t.Errorf("%s: it fails, but has the objects %s", c.reason, output)
			}
		})
	}
}

// TestJobSets: what a JobSet says beyond its templates is kept, a warning or an error.
func TestJobSets(t *testing.T) {
	worker := member("worker", gang, "command: [a]")
	one := member("leader", "backoffLimit: 0", "command: [a]")
	env := func(value string) string { return "command: [a], env: [{name: X, " + value + "}]" }
	ref := func(key string) string {
		return env("valueFrom: {fieldRef: {fieldPath: \"metadata." + key + "\"}}")
	}
	cases := map[string]conversionCase{
		"ranks": {
			"the pods of all Jobs are ranks",
			jobSetOf(strings.Replace(worker, "name: worker", "name: worker, replicas: 3", 1)),
			"replicas: 6", "the variable JOB_COMPLETION_INDEX is left out, because each of the 3 Jobs", "",
		},
		"no pods": {
			"a gang needs ranks", jobSetOf(member("worker", "parallelism: 0", "command: [a]")), "",
			"a Job without pods has no counterpart", "spec.replicatedJobs: no replicated job has pods that train",
		},
		"one after another": {
			"tasks are no ranks", jobSetOf(member("worker", "parallelism: 2, completions: 8", "command: [a]")), "",
			"", "completions: 8 pods run one after another, 2 at a time",
		},
		"too many": {
			"no overflow", jobSetOf(strings.Replace(member("worker", "parallelism: 2147483647", "command: [a]"),
				"name: worker", "name: worker, replicas: 3", 1)), "", "", "is no number of pods",
		},
		"both must succeed": {"All of all", jobSetOf(one, worker), "successPolicy: AllWorkers", "", ""},
		"leader decides": {
			"All of the leader is the default here",
			jobSetOf(one, worker) + "  successPolicy: {operator: All, targetReplicatedJobs: [leader]}\n",
			"replicas: 2", "", "",
		},
		"first decides": {
			"no counterpart", jobSetOf(one, worker) + "  successPolicy: {operator: Any}\n", "",
			"spec.successPolicy: the first Job that ends decides there", "",
		},
		"sum of restarts": {
			"both limits count", jobSetOf(member("worker", "parallelism: 2, completions: 2", "command: [a]")) +
				"  failurePolicy: {maxRestarts: 3}\n", "backoffLimit: 9",
			"there 6 failures restart one pod, and maxRestarts 3 all of them", "",
		},
		"restarts of the JobSet": {
			"they mean the same here", jobSetOf(worker) + "  failurePolicy: {maxRestarts: 3}\n", "backoffLimit: 3", "",
			"",
		},
		"in place": {
			"the largest number is no limit of its own",
			jobSetOf(strings.Replace(worker, "backoffLimit: 0", "backoffLimit: 2147483647", 1)) +
				"  failurePolicy: {maxRestarts: 3, restartStrategy: InPlaceRestart}\n", "backoffLimit: 3",
			"restartStrategy: InPlaceRestart has no counterpart", "",
		},
		"rule": {
			"of a failure", jobSetOf(worker) + "  failurePolicy: {rules: [{name: r, action: FailJobSet}]}\n", "",
			"spec.failurePolicy.rules[0]: the action FailJobSet has no counterpart", "",
		},
		"framework of a command": {
			"a launcher names it", jobSetOf(member("worker", gang, "command: [bash, -c, 'cd /a && "+
				"/opt/bin/torchrun --nnodes 2 b.py']")), "framework: pytorch", "", "",
		},
		"framework of a variable": {
			"a program reads it", jobSetOf(member("worker", gang, "env: [{name: MASTER_ADDR, value: x}]")),
			"framework: pytorch", "MASTER_ADDR is left out: the operator sets it", "",
		},
		"MPI": {
			"mpirun of one pod", jobSetOf(member("main", "backoffLimit: 0", "command: [mpirun, a]"),
				member("hosts", gang, "command: [/usr/sbin/sshd, -D]")), "framework: mpi",
			"main is the Launcher of framework mpi", "",
		},
		"host name": {
			"of a pod", jobSetOf(worker, member("ps", gang, env("value: 'tcp://a-worker-0-1.a:23'"))),
			"value: tcp://a-worker-1.a:23", "the host name a-worker-0-1.a becomes a-worker-1.a", "",
		},
		"host name of Jobs": {
			"the index counts the pods of all Jobs before",
			jobSetOf(strings.Replace(member("worker", gang, env("value: a-worker-2-1.a")), "name: worker",
				"name: worker, replicas: 3", 1)), "value: a-worker-5.a", "", "",
		},
		"unknown host name": {
			"the gang has no such pod", jobSetOf(member("worker", gang, env("value: a-worker-0-7.a"))), "", "",
			"env[0].value: contains the name of a pod of the other system",
		},
		"part of a host name": {
			"a shell completes it", jobSetOf(member("worker", gang, "command: [sh, -c, 'ssh a-worker-0-$i.a']")), "",
			"", "write $(TRAININGJOB_LEADER_HOST), or a host name such as a-worker-0.a",
		},
		"other text": {
			"it only looks like one", jobSetOf(member("worker", gang, "command: [x, --data-worker-0-0, a-worker]")),
			"--data-worker-0-0", "", "",
		},
		"index": {
			"the annotation of the Job controller",
			jobSetOf(member("worker", gang, ref("annotations['batch.kubernetes.io/job-completion-index']"))),
			"name: X\n              valueFrom:\n                fieldRef:\n                  apiVersion: v1\n" +
				"                  fieldPath: metadata.labels['training.kubeflow.org/replica-index']", "", "",
		},
		"name": {
			"the label of the JobSet",
			jobSetOf(member("worker", gang, ref("labels['jobset.sigs.k8s.io/jobset-name']"))), "value: a\n", "", "",
		},
		"unknown metadata": {
			"it would be empty", jobSetOf(member("worker", gang, ref("labels['jobset.sigs.k8s.io/job-key']"))), "", "",
			"reads jobset.sigs.k8s.io/job-key, which pods of a TrainingJob do not have",
		},
		"exclusive domain": {
			"other jobs can run there", strings.Replace(jobSetOf(worker), "{name: a}",
				"{name: a, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}", 1),
			"key: rack\n        mode: Within", "pods of other jobs can run in the same rack", "",
		},
		"label of Jobs": {
			"there are none", strings.Replace(jobSetOf(worker), "template: {spec", "template: {metadata: {labels: "+
				"{a: b}}, spec", 1), "", "spec.replicatedJobs[0].template.metadata.labels[a]: has no counterpart", "",
		},
		"first steps in turn": {
			"Jobs that wait for each other", jobSetOf(member("first", "backoffLimit: 0", "command: [a]"),
				strings.Replace(member("second", "backoffLimit: 0", "command: [a]"), "name: second",
					"name: second, dependsOn: [{name: first, status: Complete}]", 1),
				strings.Replace(worker, "name: worker", "name: worker, dependsOn: [{name: second, status: Complete}]",
					1)),
			"", "", "second runs as several Jobs, or after another one, before the ranks start",
		},
		"managed": {
			"by MultiKueue", jobSetOf(worker) + "  managedBy: kueue.x-k8s.io/multikueue\n",
			"managedBy: kueue.x-k8s.io/multikueue", "", "",
		},
	}
	checkConversions(t, cases)
}

// TestBatchJobs: a Job is a JobSet of one.
func TestBatchJobs(t *testing.T) {
	pods := "  template: {spec: {restartPolicy: Never, " +
		"containers: [{name: c, image: i, command: [torchrun, a]}]}}\n"
	indexed := "  parallelism: 4\n  completions: 4\n  completionMode: Indexed\n"
	live := strings.Replace(jobHead, "{name: a}",
		"{name: a, uid: u, resourceVersion: '1', labels: {job-name: a}}", 1) + indexed +
		"  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}\n  manualSelector: false\n" +
		"  podReplacementPolicy: TerminatingOrFailed\n" + strings.Replace(pods, "template: {",
		"template: {metadata: {labels: {controller-uid: u, batch.kubernetes.io/job-name: a, app: b}}, ", 1) +
		"status: {active: 4}\n"
	cases := map[string]conversionCase{
		"gang": {"4 ranks", jobHead + indexed + pods, "replicas: 4", "here the gang, at most 6 times", ""},
		"limits": {
			"they are the same", jobHead + indexed + pods + "  backoffLimit: 2\n  ttlSecondsAfterFinished: 9\n",
			"ttlSecondsAfterFinished: 9", "at most 2 times", "",
		},
		"live": {
			"labels of the API server are left out", live,
			"        metadata:\n          labels:\n            app: b\n        spec:",
			"metadata: uid, resourceVersion and the like are the API server's", "",
		},
		"no ranks": {
			"NonIndexed", jobHead + "  parallelism: 4\n  completions: 4\n" + pods, "", "",
			"spec.completionMode: the Job is NonIndexed, so its pods have no ranks: set completionMode: Indexed",
		},
		"unknown mode": {
			"a typing error", jobHead + "  completionMode: Indexd\n" + pods, "", "",
			`spec.completionMode: "Indexd" is unknown: use Indexed`,
		},
		"disruptions": {
			"they never count here", jobHead + indexed + pods + "  podFailurePolicy: {rules: [{action: Ignore, " +
				"onPodConditions: [{type: DisruptionTarget}]}]}\n", "replicas: 4", "", "",
		},
		"exit codes": {
			"no counterpart", jobHead + indexed + pods + "  podFailurePolicy: {rules: [{action: FailJob, " +
				"onExitCodes: {operator: In, values: [1]}}]}\n", "", "spec.podFailurePolicy: its rules have no", "",
		},
		"indexes": {
			"no counterpart", jobHead + indexed + pods + "  backoffLimitPerIndex: 1\n", "",
			"spec.backoffLimitPerIndex: has no counterpart", "",
		},
		"partial admission": {
			"of Kueue", strings.Replace(jobHead+indexed+pods, "{name: a}",
				"{name: a, annotations: {kueue.x-k8s.io/job-min-parallelism: '2'}}", 1), "minAvailable: 2",
			"job-min-parallelism]: is minAvailable", "",
		},
		"no number": {
			"a typing error", strings.Replace(jobHead+indexed+pods, "{name: a}",
				"{name: a, annotations: {kueue.x-k8s.io/job-min-parallelism: two}}", 1), "", "", `"two" is no number`,
		},
	}
	checkConversions(t, cases)
	if _, warnings, _ := all(t, live); strings.Contains(warnings, "controller-uid") {
		t.Errorf("warnings of labels that the author did not write:\n%s", warnings)
	}
}

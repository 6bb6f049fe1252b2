package convert_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// TestVolcanoVolumes: a volume has a claim that exists, or one that is written with the job. Where the source
// does not say which, the error names the field.
func TestVolcanoVolumes(t *testing.T) {
	const claim = "volumeClaim: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}"
	cases := map[string]struct{ volumes, claim, companion, warning, err string }{
		"a claim that exists": {"[{mountPath: /a, volumeClaimName: mine}]", "mine", "", "", ""},
		"a claim to be made": {
			"[{mountPath: /a, " + claim + "}]", "j-volume-0", "j-volume-0",
			"is the claim j-volume-0, which outlives the job",
			"",
		},
		"the controller's own": {
			"[{mountPath: /a, volumeClaimName: j-pvc-abcdefghijkl, " + claim + "}]", "j-pvc-abcdefghijkl", "",
			"spec.volumes[0].volumeClaimName: Kubernetes deletes the claim j-pvc-abcdefghijkl with the Volcano Job: " +
				"remove the claim's ownerReferences first", "",
		},
		"both": {
			"[{mountPath: /a, volumeClaimName: mine, " + claim + "}]", "mine", "",
			"spec.volumes[0].volumeClaim: the claim mine must exist already", "",
		},
		"none": {
			"[{mountPath: /a}]", "", "", "",
			"spec.volumes[0]: names no claim and describes none: give volumeClaimName or volumeClaim",
		},
		"no path": {"[{volumeClaimName: mine}]", "", "", "", "spec.volumes[0].mountPath: is empty: give the path"},
		"a path twice": {
			"[{mountPath: /a, volumeClaimName: mine}, {mountPath: /a, volumeClaimName: other}]", "", "", "",
			"spec.volumes[1].mountPath: /a is mounted already: give another path",
		},
		"a container's path": {
			"[{mountPath: /own, volumeClaimName: mine}]", "", "", "",
			"spec.volumes[0].mountPath: /own is mounted already: give another path",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job, result, err := convertOne(t, "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"+
				"metadata: {name: j, namespace: team-a}\nspec:\n  volumes: "+c.volumes+"\n  tasks: [{name: worker, "+
				"replicas: 1, template: {spec: {volumes: [{name: own, emptyDir: {}}], containers: [{name: c, image: i, "+
				"command: [a], volumeMounts: [{name: own, mountPath: /own}]}]}}}]", convert.Options{})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			pod := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec
			if got := pod.Volumes[1].PersistentVolumeClaim.ClaimName; got != c.claim {
				t.Errorf("the claim %s, want %s", got, c.claim)
			}
			companion := ""
			if pvc, is := result.Objects[0].(*corev1.PersistentVolumeClaim); is {
				companion = pvc.Name
				if pvc.Namespace != "team-a" || pvc.Spec.AccessModes[0] != corev1.ReadWriteMany {
					t.Errorf("the claim %+v", pvc)
				}
			}
			if companion != c.companion {
				t.Errorf("the companion %q, want %q", companion, c.companion)
			}
			if c.warning != "" && !hasProblem(result.Warnings, c.warning) {
				t.Errorf("no warning %q in %v", c.warning, result.Warnings)
			}
		})
	}
}

// TestVolcanoJobsThatWouldNotRun: what Volcano's plugins and names give to ranks, and the operator does not.
func TestVolcanoJobsThatWouldNotRun(t *testing.T) {
	job := func(plugins, command string) string {
		return "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec:\n  plugins: {" +
			plugins +
			"}\n  tasks:\n  - {name: trainer, replicas: 2, template: {spec: {containers: [{name: c, image: i, " +
			"command: [sh, -c], " + command + "}]}}}\n"
	}
	cases := map[string]struct{ document, want string }{
		"Ray": {
			job("ray: []", "args: [a]"),
			"spec.plugins[ray]: the job is a Ray cluster with a driver, not a gang of ranks: leave it to KubeRay",
		},
		"Volcano's example of Ray": {
			"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: ray-cluster-job}\nspec:\n  " +
				"minAvailable: 3\n  schedulerName: volcano\n  plugins: {ray: []}\n  tasks:\n  - {name: head, replicas: " +
				"1, template: &t {spec: {containers: [{name: c, image: 'bitnami/ray:2.49.0'}]}}}\n  - {name: worker, " +
				"replicas: 2, template: *t}\n",
			"spec.plugins[ray]: the job is a Ray cluster with a driver",
		},
		"a host in a variable": {
			job("svc: []", "env: [{name: A, value: 'tcp://j-trainer-0.j:1'}]"),
			"spec.tasks[0].template.spec.containers[0].env[0].value: j-trainer-0 is the rank's name in Volcano: " +
				"write j-worker-0",
		},
		"a host in the arguments": {
			job("svc: []", "args: ['--master=j-trainer-1.j']"),
			"spec.tasks[0].template.spec.containers[0].args[0]: j-trainer-1 is the rank's name in Volcano: write " +
				"j-worker-1",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := convertOne(t, c.document, convert.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestVolcanoTaskThatRunsMPI: with plugin ssh, the task that runs mpiexec is a launcher, whatever its name.
func TestVolcanoTaskThatRunsMPI(t *testing.T) {
	for _, name := range []string{"master", "horovod-head"} {
		job, _, err := convertOne(t, "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: "+
			"j}\nspec:\n  plugins: {ssh: [], svc: []}\n  tasks:\n  - {name: "+name+", replicas: 1, template: {spec: "+
			"{containers: [{name: c, image: i, command: [sh, -c, 'sshd; mpiexec --host $(cat "+
			"/etc/volcano/worker.host) a']}]}}}\n  - {name: worker, replicas: 2, template: {spec: {containers: "+
			"[{name: c, image: i, command: [sshd, -D]}]}}}\n",
			convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, has := job.Spec.ReplicaSpecs[v1alpha1.RoleLauncher]; !has ||
			job.Spec.Framework != v1alpha1.FrameworkMPI {
			t.Errorf("%s: framework %s, roles %v", name, job.Spec.Framework, job.Spec.ReplicaSpecs)
		}
	}
}

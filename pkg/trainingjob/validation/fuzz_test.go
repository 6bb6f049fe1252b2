package validation_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

const (
	maxInput = 64 << 10
	// maxAlloc is what one job may make the operator allocate in all, in bytes. 10,000 ranks in TensorFlow's
	// cluster are a megabyte of JSON for each pod that is rendered.
	maxAlloc = 512 << 20
	// maxTime ends a run that hangs, so that the input is found.
	maxTime = 30 * time.Second
)

// FuzzValidateRender: whatever Validate accepts can be rendered, for every scheduler, and no pod passes the
// scheduler by or restarts alone. An ordinary test run executes the seeds;
// `go test -fuzz FuzzValidateRender -fuzzminimizetime=5x ./pkg/trainingjob/validation` searches further.
func FuzzValidateRender(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		job := &v1alpha1.TrainingJob{}
		if len(data) > maxInput || yaml.Unmarshal(data, job) != nil {
			return
		}
		job.Namespace, job.UID = "team-a", "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
		job.Status = v1alpha1.TrainingJobStatus{Attempt: 1}
		watchdog := time.AfterFunc(maxTime, func() { panic("it hangs") })
		defer watchdog.Stop()
		before := allocated()
		errs := validation.Validate(job)
		// The shell asks these of jobs that are not valid too.
		render.Gang(job, 1, false)
		render.GPUs(job, nil)
		spec.Revision(job)
		if len(errs) == 0 {
			renderAll(t, job)
		}
		if used := allocated() - before; used > maxAlloc {
			t.Fatalf("%d bytes of YAML allocate %d bytes", len(data), used)
		}
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

var agent = render.Agent{
	Image: "agent:1", ReportURL: "https://reports:9443", Audience: "reports",
	Liveness: v1alpha1.LivenessAct, MaxLiveness: v1alpha1.LivenessAct,
}

// renderAll renders what a job has in the cluster: of each role the first and the last rank.
func renderAll(t *testing.T, job *v1alpha1.TrainingJob) {
	if spec.NeedsSSH(job) { // the shell makes a key before it renders a rank
		job = job.DeepCopy()
		const key = "ssh-ed25519 AAAA"
		job.Status.MPI = &v1alpha1.MPIStatus{SSHPublicKey: key, SSHSecretName: spec.SSHSecretName(job, key)}
	}
	render.Service(job)
	render.Claim(job)
	if c := spec.Checkpoints(job); c != nil && spec.OnVolume(c) {
		search, err := render.Resolver(job, agent)
		if err != nil {
			t.Fatalf("no search: %v", err)
		}
		checkPod(t, job, search)
	}
	gang := render.Gang(job, 1, false)
	for _, role := range spec.Roles(job) {
		for _, index := range []int32{0, role.Replicas - 1} {
			pod, err := render.Pod(job, spec.RankRef{Role: role.Name, Index: index}, 1, nil, agent, nil)
			if err != nil {
				if strings.Contains(err.Error(), "bytes") { // the framework's files for a gang of this size
					continue
				}
				t.Fatalf("a valid job has no pod: %v", err)
			}
			checkRank(t, job, pod)
			checkPod(t, job, pod)
			join(t, job, gang, pod)
		}
	}
}

// join lets every scheduler that can express the gang add what it needs.
func join(t *testing.T, job *v1alpha1.TrainingJob, gang scheduler.Gang, pod *corev1.Pod) {
	for _, b := range []scheduler.Backend{
		volcano.New(volcano.Options{}), kueue.New(kueue.Options{}), native.New(native.Options{}),
		coscheduling.New(coscheduling.Options{}),
	} {
		if len(b.Validate(gang)) > 0 {
			continue
		}
		var notServed *scheduler.NotServed // without HyperNodes Volcano keeps no gang within a rack
		if _, err := b.Objects(gang); err != nil && !errors.As(err, &notServed) {
			t.Fatalf("%s has no group for a valid job: %v", b.Name(), err)
		}
		joined := pod.DeepCopy()
		b.Join(joined, gang, scheduler.Verdict{Admission: scheduler.Go})
		if joined.Spec.SchedulerName == "" || joined.Spec.NodeName != "" || !metav1.IsControlledBy(joined, job) {
			t.Fatalf("%s: scheduler %q, node %q, owners %v", b.Name(), joined.Spec.SchedulerName,
				joined.Spec.NodeName, joined.OwnerReferences)
		}
	}
}

// checkRank holds for the pods of ranks.
func checkRank(t *testing.T, job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	if pod.Labels[v1alpha1.LabelAttempt] != "1" || render.IsResolver(pod) {
		t.Fatalf("labels %v", pod.Labels)
	}
	if pod.Spec.Hostname != pod.Name || pod.Spec.Subdomain != spec.ServiceName(job.Name) ||
		pod.Spec.HostnameOverride != nil {
		t.Fatalf("host name %q.%q", pod.Spec.Hostname, pod.Spec.Subdomain)
	}
	for _, c := range pod.Spec.Containers {
		if c.RestartPolicy != nil || c.RestartPolicyRules != nil {
			t.Fatalf("container %s restarts alone", c.Name)
		}
	}
	for _, metadata := range []map[string]string{pod.Labels, pod.Annotations} {
		for key := range metadata {
			switch domain, name, _ := strings.Cut(key, "/"); {
			case domain == "kueue.x-k8s.io" && !strings.HasPrefix(name, "podset-"),
				domain == "scheduling.k8s.io", domain == "scheduling.x-k8s.io", domain == "scheduling.volcano.sh":
				t.Fatalf("the user's %s is on the pod", key)
			}
		}
	}
}

// checkPod holds for every pod that the operator creates.
func checkPod(t *testing.T, job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	s := &pod.Spec
	switch {
	case len(k8svalidation.IsDNS1035Label(pod.Name)) > 0 || pod.Namespace != job.Namespace:
		t.Fatalf("its name is %s/%s", pod.Namespace, pod.Name)
	case pod.Labels[v1alpha1.LabelJobName] != job.Name || len(pod.OwnerReferences) != 1 ||
		!metav1.IsControlledBy(pod, job):
		t.Fatalf("not ours: labels %v, owners %v", pod.Labels, pod.OwnerReferences)
	case s.NodeName != "" || s.SchedulingGroup != nil || s.Priority != nil || s.SchedulerName != "" ||
		s.EphemeralContainers != nil || strings.HasPrefix(s.PriorityClassName, "system-"):
		t.Fatalf("it passes the scheduler by: %+v", s)
	}
	for _, toleration := range s.Tolerations {
		if toleration.Key == "" {
			t.Fatal("it tolerates everything")
		}
	}
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for _, c := range containers {
			if !strings.HasPrefix(c.Name, spec.ReservedName) || c.Image != agent.Image {
				continue
			}
			if sc := c.SecurityContext; sc.Privileged != nil || *sc.AllowPrivilegeEscalation ||
				len(sc.Capabilities.Add) > 0 {
				t.Fatalf("the agent's %s has rights: %+v", c.Name, sc)
			}
		}
	}
}

// seeds are the examples, and jobs that try to pass the scheduler by.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	var all [][]byte
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			all = append(all, []byte(document))
		}
	}
	const head = "metadata: {name: j}\nspec:\n  framework: custom\n"
	for _, hostile := range []string{
		"  replicaSpecs: {Boss: {template: {}}}",
		"  replicaSpecs: {Worker: {template: {spec: {containers: [{name: c, image: i}], nodeName: n}}}}",
		"  replicaSpecs: {Worker: {template: {metadata: {labels: {scheduling.x-k8s.io/pod-group: g}}, " +
			"spec: {containers: [{name: c, image: i}]}}}}",
		"  replicaSpecs: {Worker: {template: {metadata: {labels: {trainingjob: other, " +
			"mlplatform.example.com/component: resolver}}, " +
			"spec: {containers: [{name: trainingjob-agent, image: i}]}}}}",
		"  image: i\n  command: [c]\n  replicas: 10000\n  resources: {requests: {cpu: 9E, nvidia.com/gpu: 9E}}",
		"  image: i\n  command: [c]\n  checkpoint: {path: /a, pvc: {claimName: c}}\n" +
			"  tolerations: [{operator: Exists}]",
		"  image: i\n  command: [c]\n  checkpoint: {storage: s3, uri: 's3://b/%2e%2e'}",
		"  image: i\n  command: [c]\n  runPolicy: {schedulingPolicy: {minResources: {cpu: -1n}, minAvailable: -1}}",
	} {
		all = append(all, []byte(head+hostile))
	}
	return all
}

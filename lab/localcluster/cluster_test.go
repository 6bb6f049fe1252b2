//go:build cluster

package localcluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// All subtests share one cluster: bringing it up takes most of the time.
func TestCluster(t *testing.T) {
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: t.TempDir() + "/cluster", Audit: true, Attached: true, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := suite{cluster, newClient(t, cluster)}
	t.Cleanup(func() { // when a subtest ends the test before its own Down
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Run("the server is of the version in the module file", s.version)
	t.Run("nodes are Ready with their GPUs", s.nodes)
	t.Run("a second up changes nothing", s.upTwice)
	t.Run("a Volcano gang runs and its sleep ends", s.volcanoGang)
	t.Run("a higher Volcano gang preempts", s.volcanoPreempts)
	t.Run("a coscheduling gang waits whole and is bound", s.coschedulingGang)
	t.Run("a native gang is bound", s.nativeGang)
	t.Run("a native PodGroup can be deleted", s.nativeGroupGoes)
	t.Run("a pod fails with the configured exit code", s.exitCode)
	t.Run("a pod ends at SIGTERM as configured", s.exitsAtSIGTERM)
	t.Run("a service account's token has its rights only", s.token)
	t.Run("the audit log has user agents and no reads", s.audit)
	t.Run("a process stops and starts", s.stopAndStart)
	t.Run("a killed process is noticed and can be started again", s.killedProcess)
	t.Run("nodes stay Ready when KWOK is restarted", s.kwokRestart)
	t.Run("a killed node is NotReady until revived", s.killedNode)
	t.Run("down leaves no process and no port", s.down)
}

type suite struct {
	cluster *localcluster.Cluster
	client  client.Client
}

func newClient(t *testing.T, cluster *localcluster.Cluster) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(schedulingv1beta1.AddToScheme(scheme))
	utilruntime.Must(volcanov1beta1.AddToScheme(scheme))
	utilruntime.Must(pluginsv1alpha1.AddToScheme(scheme))
	c, err := client.New(cluster.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s suite) version(t *testing.T) {
	got, err := discovery.NewDiscoveryClientForConfigOrDie(s.cluster.RESTConfig()).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if got.GitVersion != "v1.37.2" || got.Major != "1" || got.Minor != "37" {
		t.Errorf("server version is %+v", got)
	}
}

func (s suite) nodes(t *testing.T) {
	status := s.cluster.Status(t.Context())
	want := []localcluster.NodeStatus{
		{Name: "node-0", Ready: true, GPUs: 8}, {Name: "node-1", Ready: true, GPUs: 8},
		{Name: "node-2", Ready: true, GPUs: 8}, {Name: "node-3", Ready: true, GPUs: 8},
	}
	if diff := cmp.Diff(want, status.Nodes); diff != "" || !status.Healthy() {
		t.Errorf("nodes (-want +got):\n%s\nstatus %+v", diff, status)
	}
	queue := &volcanov1beta1.Queue{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "default"}, queue); err != nil {
		t.Fatal(err)
	}
	if queue.Status.State != volcanov1beta1.QueueStateOpen {
		t.Errorf("queue default is %q", queue.Status.State)
	}
}

func (s suite) upTwice(t *testing.T) {
	before := s.cluster.Status(t.Context())
	again, err := localcluster.Up(t.Context(), localcluster.Options{Dir: s.cluster.Dir()})
	if err == nil || !strings.Contains(err.Error(), localcluster.ErrRunning.Error()) {
		t.Fatalf("got %v, want %v", err, localcluster.ErrRunning)
	}
	for i, p := range again.Status(t.Context()).Processes {
		if p.PID != before.Processes[i].PID {
			t.Errorf("%s was started again", p.Name)
		}
	}
}

func (s suite) volcanoGang(t *testing.T) {
	const group = "volcano-gang"
	s.create(t, &volcanov1beta1.PodGroup{
		ObjectMeta: inDefault(group),
		Spec:       volcanov1beta1.PodGroupSpec{MinMember: 2, Queue: "default"},
	})
	pods := []*corev1.Pod{volcanoPod(group, 0, "8"), volcanoPod(group, 1, "8")}
	for _, pod := range pods {
		pod.Spec.Containers[0].Command = []string{"sleep", "2"}
		s.create(t, pod)
	}
	for _, pod := range pods {
		s.waitForPod(t, pod, "bound", func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	}
	addresses := map[string]bool{}
	for _, pod := range pods {
		s.waitForPod(t, pod, "Succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
		if ip := pod.Status.PodIP; ip == "" || addresses[ip] {
			t.Errorf("%s has the address %q: what its Service costs would not be seen", pod.Name, ip)
		}
		addresses[pod.Status.PodIP] = true
		ended := pod.Status.ContainerStatuses[0].State.Terminated
		if ended == nil || ended.ExitCode != 0 || ended.FinishedAt.Sub(ended.StartedAt.Time) < 2*time.Second {
			t.Errorf("%s ended with %+v", pod.Name, ended)
		}
		for _, condition := range pod.Status.Conditions {
			completed := condition.Status == corev1.ConditionFalse && condition.Reason == "PodCompleted"
			if condition.Type == corev1.PodReady && !completed {
				t.Errorf("%s has condition %+v", pod.Name, condition)
			}
		}
	}
}

// Users are given our scheduler configuration for its preemption.
func (s suite) volcanoPreempts(t *testing.T) {
	kube := kubernetes.NewForConfigOrDie(s.cluster.RESTConfig())
	for name, value := range map[string]int32{"test-low": 1, "test-high": 100} {
		classes := kube.SchedulingV1().PriorityClasses()
		_, err := classes.Create(t.Context(), priorityClass(name, value), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	gang := func(name, class string) []*corev1.Pod {
		s.create(t, &volcanov1beta1.PodGroup{
			ObjectMeta: inDefault(name),
			Spec:       volcanov1beta1.PodGroupSpec{MinMember: 4, Queue: "default", PriorityClassName: class},
		})
		var pods []*corev1.Pod
		for i := range 4 {
			pod := volcanoPod(name, i, "8")
			pod.Spec.PriorityClassName = class
			s.create(t, pod)
			pods = append(pods, pod)
		}
		return pods
	}
	bound := func(p *corev1.Pod) bool { return p.Spec.NodeName != "" }
	low := gang("low", "test-low")
	for _, pod := range low {
		s.waitForPod(t, pod, "bound", bound)
	}
	high := gang("high", "test-high")
	for _, pod := range high {
		s.waitForPod(t, pod, "bound", bound)
	}
	s.deleteAll(t, &volcanov1beta1.PodGroup{})
}

func (s suite) coschedulingGang(t *testing.T) {
	const group = "plugins-gang"
	s.create(t, &pluginsv1alpha1.PodGroup{
		ObjectMeta: inDefault(group),
		Spec:       pluginsv1alpha1.PodGroupSpec{MinMember: 2},
	})
	rank := func(i int) *corev1.Pod {
		pod := newPod(fmt.Sprintf("%s-%d", group, i), "8")
		pod.Labels = map[string]string{pluginsv1alpha1.PodGroupLabel: group}
		pod.Spec.SchedulerName = "scheduler-plugins-scheduler"
		return pod
	}
	first, second := rank(0), rank(1)
	s.create(t, first)
	s.waitForPod(t, first, "judged", func(p *corev1.Pod) bool {
		return p.Spec.NodeName == "" && len(p.Status.Conditions) > 0 &&
			p.Status.Conditions[0].Reason == corev1.PodReasonUnschedulable
	})
	s.create(t, second)
	for _, pod := range []*corev1.Pod{first, second} {
		s.waitForPod(t, pod, "Running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	}
	for _, pod := range []*corev1.Pod{first, second} {
		if err := s.client.Delete(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
}

func (s suite) nativeGang(t *testing.T) {
	const group = "native-gang"
	s.create(t, &schedulingv1beta1.PodGroup{
		ObjectMeta: inDefault(group),
		Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2},
		}},
	})
	rank := func(i int) *corev1.Pod {
		pod := newPod(fmt.Sprintf("%s-%d", group, i), "8")
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To(group)}
		return pod
	}
	first, second := rank(0), rank(1)
	s.create(t, first)
	// A pod that comes later and is bound shows that the scheduler has skipped the first rank.
	witness := newPod("witness", "1")
	s.create(t, witness)
	s.waitForPod(t, witness, "bound", func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	s.waitForPod(t, first, "waiting for its gang", func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })
	s.create(t, second)
	for _, pod := range []*corev1.Pod{first, second} {
		s.waitForPod(t, pod, "Running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	}
}

// The API server's finalizer is removed by the controller manager alone.
func (s suite) nativeGroupGoes(t *testing.T) {
	s.deleteAll(t, &schedulingv1beta1.PodGroup{})
	s.eventually(t, "the PodGroup is gone", func() (bool, error) {
		groups := &schedulingv1beta1.PodGroupList{}
		err := s.client.List(t.Context(), groups)
		return len(groups.Items) == 0, err
	})
}

func (s suite) exitCode(t *testing.T) {
	pod := newPod("fails", "1")
	pod.Annotations = map[string]string{
		localcluster.AnnotationRunSeconds: "1",
		localcluster.AnnotationExitCode:   "137",
	}
	s.create(t, pod)
	s.waitForPod(t, pod, "Failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	ended := pod.Status.ContainerStatuses[0].State.Terminated
	if ended == nil || ended.ExitCode != 137 || ended.Reason != "Error" {
		t.Errorf("it ended with %+v", ended)
	}
}

func (s suite) exitsAtSIGTERM(t *testing.T) {
	pod := newPod("obeys", "1")
	pod.Annotations = map[string]string{localcluster.AnnotationSIGTERMExitCode: "0"}
	pod.Finalizers = []string{"example.com/look"} // what is removed after its end must be seen before
	s.create(t, pod)
	s.waitForPod(t, pod, "Running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	if err := s.client.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	s.waitForPod(t, pod, "Succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := s.client.Patch(t.Context(), pod, release); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "the pod is gone", func() (bool, error) {
		err := s.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func (s suite) token(t *testing.T) {
	admin := kubernetes.NewForConfigOrDie(s.cluster.RESTConfig())
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](600)},
	}
	accounts := admin.CoreV1().ServiceAccounts("default")
	request, err := accounts.CreateToken(t.Context(), "default", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.cluster.RESTConfig())
	config.BearerToken = request.Status.Token
	account := kubernetes.NewForConfigOrDie(config)
	reviews := account.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != "system:serviceaccount:default:default" {
		t.Errorf("the token is of %+v, error %v", review.Status.UserInfo, err)
	}
	_, err = account.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing pods with it: got %v, want forbidden", err)
	}
}

func (s suite) audit(t *testing.T) {
	file, err := os.Open(s.cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	agents := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		event := &auditv1.Event{}
		if err := json.Unmarshal(lines.Bytes(), event); err != nil {
			t.Fatal(err)
		}
		agent, _, _ := strings.Cut(event.UserAgent, "/")
		agents[agent]++
		if event.Verb == "get" || event.ObjectRef != nil && event.ObjectRef.Resource == "leases" {
			t.Errorf("not to be here: %s", lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	for _, agent := range []string{
		"kube-scheduler", "vc-scheduler", "scheduler-plugins-scheduler", "kwok", "kube-controller-manager",
	} {
		if agents[agent] == 0 {
			t.Errorf("no write of %s among %v", agent, agents)
		}
	}
}

func (s suite) down(t *testing.T) {
	before := s.cluster.Status(t.Context())
	server, err := url.Parse(s.cluster.RESTConfig().Host)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cluster.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range before.Processes {
		// It has ended; its parent, this test, has yet to reap it.
		s.eventually(t, p.Name+" is no more", func() (bool, error) {
			return errors.Is(syscall.Kill(p.PID, 0), syscall.ESRCH), nil
		})
	}
	listener, err := net.Listen("tcp", server.Host)
	if err != nil {
		t.Errorf("the API server's port is still taken: %v", err)
	} else {
		listener.Close()
	}
	if _, err := os.Stat(s.cluster.Dir()); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	if err := s.cluster.Down(t.Context()); err != nil {
		t.Errorf("down again: %v", err)
	}
}

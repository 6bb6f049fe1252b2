//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// gpus of the only node: it holds exactly one gang of four ranks.
const gpus = 4

const (
	namespace    = "default"
	highPriority = "e2e-high"
	// brokeredPriority is that of gangs for which the operator plans preemptions, brokeredWaits that of their
	// ranks meanwhile.
	brokeredPriority, brokeredWaits = "e2e-brokered", "e2e-brokered-waits"
)

// environment is the cluster of all tests and its operator, a process of its own.
type environment struct {
	client   client.Client
	cluster  *localcluster.Cluster
	dir      string
	operator *operator
}

var env *environment

var reduced = flag.Bool("reduced", false, "leave out the scenarios that CI has no time for")

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	code, err := run(ctx, m)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the e2e environment:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e := &environment{dir: dir}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/",
		"../../cmd/operator", "../../cmd/agent", "../../cmd/server", "../../examples/gotrainer")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("building the operator, the agent, the server and the trainer: %w", err)
	}
	archives, err := images(ctx, dir)
	if err != nil {
		return 1, err
	}
	schedulers := []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative,
		localcluster.SchedulerKueue}
	if *reduced {
		schedulers = []string{localcluster.SchedulerVolcano}
	}
	e.cluster, err = localcluster.Up(ctx, localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Attached: true, Nodes: -1, GPUsPerNode: gpus, RealNode: true,
		Images: archives, Progress: os.Stderr,
		Schedulers: schedulers, CRDs: []string{"../../deploy/crd"},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, e.down(context.WithoutCancel(ctx))) }()
	if err := e.prepare(ctx); err != nil {
		return 1, err
	}
	defer e.operator.kill()
	env = e
	return m.Run(), nil
}

// down stops the cluster and checks that its node leaves no trace on this machine.
func (e *environment) down(ctx context.Context) error {
	address := e.cluster.MachineAddress()
	if err := e.cluster.Down(ctx); err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), e.dir) {
		return fmt.Errorf("mounts are left behind:\n%s", mounts)
	}
	addresses, err := net.InterfaceAddrs()
	if err == nil && slices.ContainsFunc(addresses,
		func(a net.Addr) bool { return strings.HasPrefix(a.String(), address.String()+"/") }) {
		err = fmt.Errorf("the cable is still there: %v", addresses)
	}
	return err
}

func (e *environment) prepare(ctx context.Context) error {
	s := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s))
	if err != nil {
		return err
	}
	if err := kueuev1beta2.AddToScheme(s); err != nil {
		return err
	}
	if e.client, err = client.New(e.cluster.RESTConfig(), client.Options{Scheme: s}); err != nil {
		return err
	}
	for _, class := range priorityClasses() {
		if err := e.client.Create(ctx, &class); err != nil {
			return err
		}
	}
	if !*reduced {
		if err := createQueue(ctx, e.client); err != nil {
			return err
		}
	}
	if e.operator, err = e.newOperator(); err != nil {
		return err
	}
	if err := e.operator.start(); err != nil {
		return err
	}
	// Without the namespace's service account no pod is admitted.
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := e.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
			return err == nil, client.IgnoreNotFound(err)
		})
}

// priorityClasses of gangs that have others end. A brokered gang's may take half a minute to save: with more
// time the operator would let a training finish that is as short as those of the scenarios.
func priorityClasses() []schedulingv1.PriorityClass {
	return []schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: highPriority}, Value: 1000},
		{
			ObjectMeta: metav1.ObjectMeta{Name: brokeredPriority, Annotations: map[string]string{
				v1alpha1.AnnotationWaitingClass: brokeredWaits, v1alpha1.AnnotationMaxDelay: "30",
			}}, Value: 1000,
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: brokeredWaits}, Value: 1000,
			PreemptionPolicy: new(corev1.PreemptNever),
		},
	}
}

// operator is the shipped binary in a process of its own, which can be killed.
type operator struct {
	path, kubeconfig, config, log string
	cmd                           *exec.Cmd
}

// newOperator configures an operator that pods can reach: it serves reports at this machine's end of the
// network link to the node.
func (e *environment) newOperator() (*operator, error) {
	certificates := filepath.Join(e.dir, "reports")
	if err := os.Mkdir(certificates, 0o700); err != nil {
		return nil, err
	}
	for from, to := range map[string]string{"server.crt": "tls.crt", "server.key": "tls.key",
		"ca.crt": "ca.crt"} {
		data, err := os.ReadFile(filepath.Join(e.dir, "cluster", "pki", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(certificates, to), data, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(e.cluster.MachineAddress().String(), "0"))
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	o := &operator{
		path: filepath.Join(e.dir, "operator"), kubeconfig: filepath.Join(e.dir, "cluster", "kubeconfig"),
		config: filepath.Join(e.dir, "operator.yaml"), log: filepath.Join(e.dir, "operator.log"),
	}
	return o, os.WriteFile(o.config, fmt.Appendf(nil, `apiVersion: config.mlplatform.example.com/v1alpha1
kind: OperatorConfiguration
leaderElection: {enabled: false}
metrics: {bindAddress: "0"}
health: {bindAddress: "0"}
agent: {image: %s}
schedulers: {kueue: {binder: native}}
preemption: {mode: Broker, minRunSeconds: 1}
liveness: {maxMode: Act}
reports: {bindAddress: %q, url: %q, certificateDir: %s}
`, agentImage, address, "https://"+address, certificates), 0o600)
}

func (o *operator) start() error {
	log, err := os.OpenFile(o.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	o.cmd = exec.Command(o.path, "--kubeconfig="+o.kubeconfig, "--config="+o.config)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	return o.cmd.Start()
}

// kill the operator without a chance to shut down.
func (o *operator) kill() {
	_ = o.cmd.Process.Signal(syscall.SIGKILL)
	_ = o.cmd.Wait()
}

// clear the node for the next scenario, also after a failed one.
func (e *environment) clear(t *testing.T) {
	if err := e.client.DeleteAllOf(context.Background(), &v1alpha1.TrainingJob{},
		client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
}

// logIfFailed logs, if the test fails, the ends of the logs of the operator, the node, and the remaining pods
// whose names begin with pods.
func (e *environment) logIfFailed(t *testing.T, pods string) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		logs, _ := filepath.Glob(filepath.Join(e.cluster.PodLogs(), namespace+"_"+pods+"*", "*", "*.log"))
		for _, name := range append(logs, e.operator.log,
			filepath.Join(e.dir, "cluster", "logs", "real-node.log")) {
			t.Logf("the end of %s:\n%s", name, end(name))
		}
	})
}

func end(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return []byte(err.Error())
	}
	defer f.Close()
	const most = 4 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	return text
}

// patience bounds the wait for one condition.
const patience = 10 * time.Minute

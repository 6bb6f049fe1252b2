//go:build cluster

package upgrade

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// Namespace and service account of the operator.
const system, account = "trainingjob-system", "trainingjob-operator"

// stage is a cluster with one scheduler, where admins install versions of the operator.
type stage struct {
	t         *testing.T
	scheduler string
	cluster   *harness.Cluster
	pools     map[string]*harness.Namespace
	// reports is the address of the report servers, whose certificates are in a folder.
	reports      *service
	certificates string
	// backingOff are the gangs that have failed twice.
	backingOff []string
	// serial numbers the objects that every act creates.
	serial int
}

// newStage brings a cluster up without TrainingJobs, with the nodes and the queues that the gangs use.
func newStage(t *testing.T, scheduler string, gangs []gang) *stage {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	s := &stage{t: t, scheduler: scheduler, pools: map[string]*harness.Namespace{}}
	local, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(t.TempDir(), "cluster"), Attached: true, Nodes: -1, Audit: true,
		Schedulers: []string{scheduler}, Configurations: s.patient(),
		// A dead node must count as alive throughout.
		NodeGracePeriod: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s.cluster = &harness.Cluster{Cluster: local}
	config := local.RESTConfig()
	config.QPS = -1
	if s.cluster.Client, err = client.New(config, client.Options{Scheme: newScheme(t)}); err != nil {
		t.Fatal(err)
	}
	if s.cluster.Kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if s.reports, err = newService(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.reports.close)
	s.certificates = filepath.Join(t.TempDir(), "certificates")
	if err := harness.WriteCertificate(s.certificates); err != nil {
		t.Fatal(err)
	}
	s.simulateTrainers()
	for name, value := range map[string]int32{low: 1, high: 1000} {
		s.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value})
	}
	s.makePools(gangs)
	return s
}

// patient is Kueue's configuration with the time that it gives gangs to start made longer than the test: the
// one that waits for its pods is to wait throughout.
func (s *stage) patient() map[string]string {
	s.t.Helper()
	if s.scheduler != localcluster.SchedulerKueue {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, "lab/modules/kueue/configuration.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "kueue.yaml")
	longer := strings.ReplaceAll(string(text), "imeout: 2m", "imeout: 3h")
	if err := os.WriteFile(file, []byte(longer), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return map[string]string{localcluster.SchedulerKueue: file}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, volcanov1beta1.AddToScheme, kueue.AddToScheme,
		pluginsv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func (s *stage) simulateTrainers() {
	ctx, cancel := context.WithCancel(context.Background())
	config := s.cluster.RESTConfig()
	config.QPS = -1
	volume := filepath.Join(s.t.TempDir(), "volume.json")
	ended := make(chan error, 1)
	go func() { ended <- simtrainer.Run(ctx, config, simtrainer.Options{StateFile: volume}) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
}

// accountKubeconfig is for a token of the service account that is installed.
func (s *stage) accountKubeconfig(dir string) string {
	s.t.Helper()
	hours := int64(4 * 3600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hours}}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: system}}
	if err := s.cluster.Client.SubResource("token").Create(s.t.Context(), sa, request); err != nil {
		s.t.Fatal(err)
	}
	admin, err := clientcmd.LoadFromFile(s.cluster.Kubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	for name := range admin.AuthInfos {
		admin.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*admin, file); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// install a release, or upgrade to it, in the order that its kustomization says.
func (s *stage) install(r release) {
	s.t.Helper()
	s.kubectl("apply", "--server-side", "-f", r.deploy("crd"))
	s.kubectl("apply", "--server-side", "-f", r.deploy("admission"))
	s.kubectl("apply", "--server-side", "-k", r.deploy("operator"))
	if s.scheduler == localcluster.SchedulerKueue {
		s.kubectl("apply", "--server-side", "-f", r.deploy("operator/kueue.yaml"))
	}
	s.until("TrainingJobs are served", func(ctx context.Context) (string, error) {
		if err := s.cluster.Client.List(ctx, &v1alpha1.TrainingJobList{}); err != nil {
			return err.Error(), nil
		}
		return "", nil
	})
}

func (s *stage) kubectl(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(s.cluster.Kubectl(), append(args, "--kubeconfig", s.cluster.Kubeconfig())...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (s *stage) create(o client.Object) {
	s.t.Helper()
	if err := s.cluster.Client.Create(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// until waits until is returns ""; any other text says what is missing.
func (s *stage) until(what string, is func(context.Context) (string, error)) {
	s.t.Helper()
	harness.Until(s.t, what, is)
}

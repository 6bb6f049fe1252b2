//go:build cluster

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const system, account = "trainingjob-system", "trainingjob-server"

// stack is the server beside its cluster.
type stack struct {
	cluster       *harness.Cluster
	binary, dir   string
	api, health   string
	origin        string // at which browsers reach it
	configuration string
	cmd           *exec.Cmd
	mu            sync.Mutex
	out           bytes.Buffer
}

func (s *stack) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

// onVolcano starts a cluster of two nodes with Volcano and the operator.
func onVolcano(t *testing.T) *harness.Cluster {
	t.Helper()
	c, err := harness.Start(t.Context(), harness.Options{
		Root: root, Schedulers: []string{localcluster.SchedulerVolcano}, Nodes: 2,
		Backends:    []scheduler.Backend{volcano.New(volcano.DefaultOptions())},
		AddToScheme: []func(*kruntime.Scheme) error{volcanov1beta1.AddToScheme},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// deployed applies deploy/server, and builds the binary that its pod would run. What its configuration has
// beside that of the pod can be changed.
func deployed(t *testing.T, c *harness.Cluster, changes ...func(*config.ServerConfiguration)) *stack {
	t.Helper()
	addresses, release, err := harness.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	s := &stack{cluster: c, dir: t.TempDir(), api: addresses[0], health: addresses[1]}
	s.binary = harness.Program(t, "server")
	for _, name := range []string{system, "clever"} {
		s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	shipped := s.apply(t)
	s.configure(t, shipped, changes)
	s.writeKubeconfig(t)
	t.Cleanup(func() {
		s.kill(t)
		if t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Logf("the server's log ends with:\n%s", s.out.String()[max(0, s.out.Len()-10_000):])
		}
	})
	return s
}

// apply what deploy/server and its finalizer.yaml make, but the pod and what only it needs, and return the
// configuration.
func (s *stack) apply(t *testing.T) string {
	t.Helper()
	text, err := exec.Command(s.cluster.Kubectl(), "kustomize", root+"/deploy/server").Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v", err)
	}
	finalizer, err := os.ReadFile(root + "/deploy/server/finalizer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped := ""
	all := io.MultiReader(bytes.NewReader(text), strings.NewReader("\n---\n"), bytes.NewReader(finalizer))
	for d := utilyaml.NewYAMLOrJSONDecoder(all, 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return shipped
		} else if err != nil {
			t.Fatal(err)
		}
		switch o.GetKind() {
		case "", "Deployment", "PersistentVolumeClaim", "Certificate", "Issuer":
			continue
		case "ConfigMap":
			shipped, _, _ = unstructured.NestedString(o.Object, "data", "config.yaml")
		}
		s.create(t, o)
	}
}

// applyFile applies the objects of a file in deploy/server.
func (s *stack) applyFile(t *testing.T, name string) {
	t.Helper()
	file, err := os.Open(root + "/deploy/server/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for d := utilyaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		s.create(t, o)
	}
}

// configure the binary as it ships, but for what is this machine's and this story's.
func (s *stack) configure(t *testing.T, shipped string, changes []func(*config.ServerConfiguration)) {
	t.Helper()
	c, err := config.Parse([]byte(shipped))
	if err != nil {
		t.Fatal(err)
	}
	certificates := filepath.Join(s.dir, "certificates")
	if err := harness.WriteCertificate(certificates); err != nil {
		t.Fatal(err)
	}
	c.Listen.BindAddress, c.Listen.CertificateDir = s.api, certificates
	c.Health.BindAddress, c.Metrics.BindAddress = s.health, config.Off
	c.Database.URL = "sqlite://" + filepath.Join(s.dir, "history.db")
	c.Finalizer.Enabled = true
	c.Prices = []config.Price{{GPUKind: "nvidia.com/gpu", PerGPUHour: "2.75"}}
	c.TFJob.Runtimes = []tfjob.Runtime{{
		Name: "Python_2.7+Tensorflow_1.2.1", Framework: "tensorflow", FrameworkVersion: "1.2.1",
		Image: "tensorflow/tensorflow:1.2.1", ImageDirs: []string{"/opt/jobs"},
	}}
	c.TFJob.Partitions = []tfjob.Partition{{Name: "clever"}}
	for _, change := range changes {
		change(&c)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.origin = c.Board.URL; s.origin == "" {
		s.origin = "http://" + s.api
	}
	s.configuration = filepath.Join(s.dir, "config.yaml")
	if err := os.WriteFile(s.configuration, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeKubeconfig with the rights of the server's account, and no other.
func (s *stack) writeKubeconfig(t *testing.T) {
	t.Helper()
	admin, c := s.cluster.RESTConfig(), clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{
		Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile,
	}
	c.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: s.token(t, system, account)}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a"}
	c.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*c, filepath.Join(s.dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
}
func (s *stack) token(t *testing.T, namespace, name string, audiences ...string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(7200)), Audiences: audiences},
	}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.cluster.Client.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// person returns the token of a user who may work with the jobs of namespace clever, or not.
func (s *stack) person(t *testing.T, name string, may bool) string {
	t.Helper()
	s.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "clever", Name: name}})
	if may {
		s.letWork(t, name, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "clever", Name: name})
	}
	return s.token(t, "clever", name, identity.DefaultAudience)
}

// letWork grants a user the jobs of namespace clever, and read access to the queues.
func (s *stack) letWork(t *testing.T, name string, who rbacv1.Subject) {
	t.Helper()
	s.create(t, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clever", Name: name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"mlplatform.example.com"}, Resources: []string{"trainingjobs"},
			Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		}},
	})
	s.create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clever", Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{who},
	})
	s.create(t, &rbacv1.ClusterRole{ // to see what the queues have
		ObjectMeta: metav1.ObjectMeta{Name: "queues-" + name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"scheduling.volcano.sh"}, Resources: []string{"queues"}, Verbs: []string{"list"},
		}},
	})
	s.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "queues-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "queues-" + name},
		Subjects:   []rbacv1.Subject{who},
	})
}

func (s *stack) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := s.cluster.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// start the server, and wait until it has seen all jobs and may act for its callers.
func (s *stack) start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.binary, "--config", s.configuration, "--kubeconfig",
		filepath.Join(s.dir, "kubeconfig"))
	s.cmd.Stdout, s.cmd.Stderr = s, s
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/readyz", "/clusters", "/readyz/acting"} {
		harness.Until(t, "the server answers at "+path, func(ctx context.Context) (string, error) {
			out, err := exec.CommandContext(ctx, "curl", "-sS", "--fail-with-body",
				"http://"+s.health+path).CombinedOutput()
			if err != nil {
				return string(out), nil // it does not listen yet, or is not ready
			}
			return "", nil
		})
	}
}

// kill it, as kill -9 does, where it runs.
func (s *stack) kill(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = s.cmd.Wait() // which says that it was killed
	s.cmd = nil
}

// stop it, as a kubelet does.
func (s *stack) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	s.cmd = nil
}

// answer of the API: its body, and the line that curl was asked to write about it.
type answer struct {
	body []byte
	last string
}

// request a path of the API by curl with a user's token, or without one.
func (s *stack) request(t *testing.T, token, write string, args ...string) answer {
	t.Helper()
	path := args[len(args)-1]
	args = append(args[:len(args)-1:len(args)-1], "-sS", "--cacert", filepath.Join(s.dir, "certificates/ca.crt"),
		"-H", "Content-Type: application/json", "-w", "\n"+write, "https://"+s.api+path)
	if token != "" {
		args = append(args, "-H", "Authorization: Bearer "+token)
	}
	out, err := exec.CommandContext(t.Context(), "curl", args...).Output()
	if err != nil {
		t.Fatalf("curl %s: %v\n%s", path, err, out)
	}
	end := bytes.LastIndexByte(out, '\n')
	return answer{out[:end], string(out[end+1:])}
}

// curl a path, and decode the answer. Any other status fails the test; one that is an error must be answered
// by problem+json with a remedy.
func (s *stack) curl(t *testing.T, token string, status int, into any, args ...string) {
	t.Helper()
	path := args[len(args)-1]
	got := s.request(t, token, "%{http_code} %{content_type}", args...)
	body := got.body
	code, kind, _ := strings.Cut(got.last, " ")
	if code != strconv.Itoa(status) {
		t.Fatalf("%s was answered with %s: %s", path, code, body)
	}
	if status >= 400 {
		var p struct{ Title, Detail, Remedy string }
		err := json.Unmarshal(body, &p)
		if err != nil || kind != "application/problem+json" || p.Detail == "" || p.Remedy == "" {
			t.Fatalf("%s was answered with %s, %v: %s", path, kind, err, body)
		}
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatal(fmt.Errorf("reading the answer to %s: %w\n%s", path, err, body))
	}
}

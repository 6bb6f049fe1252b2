//go:build cluster

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const namespace, account = "trainingjob-system", "trainingjob-server"

// server is a process of this program with a database of its own, and the rights that ship with it.
type server struct {
	name, binary, kubeconfig, dsn, health string
	cmd                                   *exec.Cmd
	mu                                    sync.Mutex
	out                                   bytes.Buffer
}

func (s *server) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// newServer is not started.
func newServer(t *testing.T, name, binary, kubeconfig string) *server {
	t.Helper()
	addresses, release, err := harness.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	s := &server{
		name: name, binary: binary, kubeconfig: kubeconfig, health: addresses[0],
		dsn: "sqlite://" + filepath.Join(t.TempDir(), "history.db"),
	}
	t.Cleanup(func() {
		s.kill(t)
		if t.Failed() {
			log := s.log()
			t.Logf("the log of %s ends with:\n%s", name, log[max(0, len(log)-10_000):])
		}
	})
	return s
}

// start with more of a configuration.
func (s *server) start(t *testing.T, more string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, fmt.Sprintf(`apiVersion: config.mlplatform.example.com/v1alpha1
kind: ServerConfiguration
listen: {bindAddress: "0"}
metrics: {bindAddress: "0"}
health: {bindAddress: %q}
database: {url: %q}
%s`, s.health, s.dsn, more))
	s.cmd = exec.Command(s.binary, "--config", path, "--kubeconfig", s.kubeconfig)
	s.cmd.Stdout, s.cmd.Stderr = s, s
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill it, as kill -9 does, where it runs.
func (s *server) kill(t *testing.T) {
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
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%s ended with %v", s.name, err)
	}
	s.cmd = nil
}

// ready waits until it has seen all jobs, and serves.
func (s *server) ready(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/readyz", "/clusters"} {
		harness.Until(t, s.name+" answers at "+path, func(ctx context.Context) (string, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.health+path, nil)
			if err != nil {
				return "", err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err.Error(), nil // it does not listen yet
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if response.StatusCode == http.StatusOK {
				return "", err
			}
			return string(body), err
		})
	}
}

// complaints are the errors of its log.
func (s *server) complaints() []string {
	return regexp.MustCompile(`(?i).*(forbidden|unauthorized|"level":"error"|panic).*`).FindAllString(s.log(), 5)
}

// open its database, which the server may be writing.
func (s *server) open(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{DSN: s.dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// has waits until a record of a job is as is says; any other text says what is missing.
func (s *server) has(t *testing.T, db *store.Store, key history.Key, is func(history.Record) string) {
	t.Helper()
	harness.Until(t, fmt.Sprintf("%s has recorded %s", s.name, key.UID),
		func(ctx context.Context) (string, error) {
			r, err := db.Job(ctx, key)
			if errors.Is(err, store.ErrNotFound) {
				return "no record", nil
			}
			if err != nil {
				return "", err
			}
			return is(r), nil
		})
}

// install the server's account and its rights, as deploy/server has them, and return a kubeconfig of it.
func install(t *testing.T, c *harness.Cluster) string {
	t.Helper()
	err := c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"service_account.yaml", "role.yaml", "bindings.yaml", "finalizer.yaml"} {
		apply(t, c.Client, deploy+"server/"+file)
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(7200))},
	}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: namespace}}
	if err := c.Client.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(asAccount(c.RESTConfig(), request.Status.Token), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// apply the documents of a file.
func apply(t *testing.T, c client.Client, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func asAccount(admin *rest.Config, token string) clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{
		Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile,
	}
	c.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a"}
	c.CurrentContext = "x"
	return *c
}

func joined(all []string) string { return strings.Join(all, "\n") }

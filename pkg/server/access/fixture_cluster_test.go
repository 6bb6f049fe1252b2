//go:build cluster

package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// environment is a real cluster with two teams, and a CA of our own whose client certificates its API server
// accepts.
type environment struct {
	*harness.Cluster
	t   *testing.T
	ca  *x509.Certificate
	key *ecdsa.PrivateKey
}

const (
	teamA, teamB    = "team-a", "team-b"
	serverNamespace = "trainingjob-system"
	serverAccount   = "trainingjob-server"
)

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	c, err := harness.Start(t.Context(), harness.Options{
		Root: "../../..", Schedulers: []string{localcluster.SchedulerNative},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	e := &environment{Cluster: c, t: t}
	e.trust()
	e.apply("../../../deploy/operator/users.yaml")
	for _, namespace := range []string{teamA, teamB, serverNamespace} {
		e.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	e.create(&corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: serverAccount, Namespace: serverNamespace},
	})
	for _, namespace := range []string{teamA, teamB} {
		for _, name := range []string{"bert", "other"} {
			e.create(job(namespace, name))
			e.create(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name + "-worker-0", Namespace: namespace},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "trainer", Image: "trainer"}}},
			})
		}
	}
	return e
}

func job(namespace, name string) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkCustom, Image: "example.com/trainer:1", Command: []string{"train"},
			Replicas: new(int32(1)),
		},
	}
}

// trust adds a CA of ours to those whose clients the API server accepts: it reads the file again when it
// changes.
func (e *environment) trust() {
	e.t.Helper()
	var err error
	if e.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		e.t.Fatal(err)
	}
	if e.ca, err = certutil.NewSelfSignedCACert(certutil.Config{CommonName: "users"}, e.key); err != nil {
		e.t.Fatal(err)
	}
	_, _, file := e.ServingFiles()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	err = errors.Join(pem.Encode(f, &pem.Block{Type: "CERTIFICATE", Bytes: e.ca.Raw}), f.Close())
	if err != nil {
		e.t.Fatal(err)
	}
}

// user is the configuration of a kubectl with a client certificate.
func (e *environment) user(name string, groups ...string) *rest.Config {
	e.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		e.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, e.ca, key.Public(), e.key)
	if err != nil {
		e.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		e.t.Fatal(err)
	}
	config := e.stranger()
	config.CertData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	config.KeyData = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	harness.Until(e.t, "the API server knows "+name, func(ctx context.Context) (string, error) {
		kube, err := kubernetes.NewForConfig(config)
		if err != nil {
			return "", err
		}
		if _, err := kube.AuthenticationV1().SelfSubjectReviews().Create(ctx,
			&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); err != nil {
			return err.Error(), nil
		}
		return "", nil
	})
	return config
}

// stranger is a configuration without credentials.
func (e *environment) stranger() *rest.Config {
	config := rest.AnonymousClientConfig(e.RESTConfig())
	config.QPS = -1
	return config
}

// account is the configuration of a kubectl with a service account's token.
func (e *environment) account(namespace, name string) *rest.Config {
	config := e.stranger()
	config.BearerToken = e.token(namespace, name)
	return config
}

// token of a service account, for the API server or for other audiences.
func (e *environment) token(namespace, name string, audiences ...string) string {
	e.t.Helper()
	request, err := e.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(e.t.Context(), name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}},
		metav1.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return request.Status.Token
}

func (e *environment) create(o client.Object) {
	e.t.Helper()
	if err := e.Client.Create(e.t.Context(), o); err != nil {
		e.t.Fatal(err)
	}
}

// apply a file's objects.
func (e *environment) apply(file string) {
	e.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		e.t.Fatal(err)
	}
	defer f.Close()
	for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			e.t.Fatal(err)
		}
		if len(o.Object) > 0 {
			e.create(o)
		}
	}
}

// bind a role to a user, in a namespace or, if that is empty, everywhere.
func (e *environment) bind(namespace, kind, role string, subject rbacv1.Subject) client.Object {
	e.t.Helper()
	meta := metav1.ObjectMeta{GenerateName: "test-", Namespace: namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	var binding client.Object = &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{subject},
	}
	if namespace == "" {
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{subject}}
	}
	e.create(binding)
	return binding
}

// newClusters act as the server's account, with the rights that it has.
func (e *environment) newClusters(c Config) *Clusters {
	e.t.Helper()
	clusters, err := New(Options{
		Config: c, Clusters: []Cluster{{Name: "default", Config: e.account(serverNamespace, serverAccount)}},
		Scheme: e.Client.Scheme(), Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(),
		Log: logr.Discard(),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return clusters
}

// look until a caller gets an error; "": until it can act.
func (e *environment) look(c *Clusters, id identity.Identity, says string) {
	e.t.Helper()
	harness.Until(e.t, "the server's rights are found: "+says, func(ctx context.Context) (string, error) {
		if err := c.byName["default"].rights.look(ctx, logr.Discard()); err != nil {
			return "", err
		}
		_, _, err := c.As("default", id)
		if notified := (*Error)(nil); errors.As(err, &notified) && says != "" && contains(notified.Detail,
			says) ||
			err == nil && says == "" {
			return "", nil
		}
		return "it says " + text(toError(err)), nil
	})
}

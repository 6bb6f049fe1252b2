//go:build cluster

package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

const operatorNamespace = "trainingjob-system"

// boundaries: no TrainingJob is in the control plane's namespaces, and the operator creates nothing there,
// nor anything that no TrainingJob owns, whatever its role allows.
func (s server) boundaries(t *testing.T) {
	s.namespace(t, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	if err := apitest.Install(t.Context(), s.client, "../../deploy/operator/boundaries.yaml"); err != nil {
		t.Fatal(err)
	}
	operator := s.takenOver(t)
	owned := []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainingJob", Name: "bert", UID: "uid",
		Controller: new(true),
	}}
	foreign := []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "bert", UID: "uid", Controller: new(true),
	}}
	job := func(namespace string) client.Object {
		j := simple()
		j.Namespace = namespace
		return j
	}
	pod := func(namespace string, owners []metav1.OwnerReference) client.Object {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bert-worker-0", OwnerReferences: owners},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "trainer", Image: "bert:1"}}},
		}
	}
	secret := func(kind corev1.SecretType) client.Object {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "bert-ssh", OwnerReferences: owned,
				Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"},
			},
			Type: kind, StringData: map[string]string{corev1.SSHAuthPrivateKey: "key"},
		}
	}
	for name, c := range map[string]struct {
		by   client.Client
		obj  client.Object
		says string
	}{
		"a job in kube-system":              {s.client, job("kube-system"), "another namespace"},
		"a job in the operator's namespace": {s.client, job(operatorNamespace), "another namespace"},
		"a job elsewhere":                   {s.client, job("default"), ""},
		"a rank":                            {operator, pod("default", owned), ""},
		"a pod without owner":               {operator, pod("default", nil), "that a TrainingJob controls"},
		"a pod of another owner":            {operator, pod("default", foreign), "that a TrainingJob controls"},
		"a pod in kube-system":              {operator, pod("kube-system", owned), "of the control plane"},
		"a pod of another client":           {s.client, pod("default", nil), ""},
		"a key of ssh":                      {operator, secret(corev1.SecretTypeSSHAuth), ""},
		"a token": {
			operator, secret(corev1.SecretTypeServiceAccountToken), "keys of ssh",
		},
	} {
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				last = c.by.Create(ctx, c.obj.DeepCopyObject().(client.Object), client.DryRunAll)
				if c.says == "" {
					return last == nil, nil
				}
				return last != nil && strings.Contains(last.Error(), c.says), nil
			})
		if err != nil {
			t.Errorf("%s: want %q, got %v", name, c.says, last)
		}
	}
}

// takenOver returns a client of the operator's account, which may do anything.
func (s server) takenOver(t *testing.T) client.Client {
	t.Helper()
	account := rbacv1.Subject{
		Kind: rbacv1.ServiceAccountKind, Name: v1alpha1.OperatorName, Namespace: operatorNamespace,
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "taken-over"}, Subjects: []rbacv1.Subject{account},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	if err := s.client.Create(t.Context(), binding); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	config := rest.CopyConfig(s.config)
	config.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name)
	c, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

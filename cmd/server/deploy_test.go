package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/test/rights"
)

const deploy = "../../deploy/"

// free is an address of this machine without a listener.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(deploy + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func shipped(t *testing.T, folder string) config.ServerConfiguration {
	t.Helper()
	var m corev1.ConfigMap
	decode(t, folder+"/config.yaml", &m)
	c, err := config.Parse([]byte(m.Data["config.yaml"]))
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	return c
}

// TestShippedConfigurations: what deploy/ installs is valid, and that for PostgreSQL differs only in the
// database.
func TestShippedConfigurations(t *testing.T) {
	one, several := shipped(t, "server"), shipped(t, "server-postgres")
	if one.Database.URL != config.DefaultDatabaseURL {
		t.Errorf("the database is %s", one.Database.URL)
	}
	one.Database = config.Database{URLFile: "/etc/trainingjob-server-database/url"}
	if diff := cmp.Diff(one, several); diff != "" {
		t.Errorf("deploy/server-postgres/config.yaml (-want +got):\n%s", diff)
	}
}

// TestShippedDeployment: the files of the configuration are mounted, its ports are those of the pod, and only
// one process at a time has SQLite's file.
func TestShippedDeployment(t *testing.T) {
	var d appsv1.Deployment
	decode(t, "server/deployment.yaml", &d)
	c, pod := shipped(t, "server"), d.Spec.Template.Spec
	container := pod.Containers[0]
	mounts := map[string]bool{}
	for _, m := range container.VolumeMounts {
		mounts[m.MountPath] = m.ReadOnly
	}
	folder := filepath.Dir(strings.TrimPrefix(c.Database.URL, "sqlite://"))
	if readOnly, is := mounts[folder]; !is || readOnly {
		t.Errorf("nothing can be written to %s", folder)
	}
	if _, is := mounts[c.Listen.CertificateDir]; !is {
		t.Errorf("nothing is mounted at %s", c.Listen.CertificateDir)
	}
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("%d replicas, %s: two processes could write one file", *d.Spec.Replicas, d.Spec.Strategy.Type)
	}
	for name, address := range map[string]string{
		"api": c.Listen.BindAddress, "metrics": c.Metrics.BindAddress, "health": c.Health.BindAddress,
	} {
		if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool {
			return p.Name == name && address == fmt.Sprintf(":%d", p.ContainerPort)
		}) {
			t.Errorf("port %s of %v is not that of %s", name, container.Ports, address)
		}
	}
	if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == memoryVariable }) {
		t.Errorf("$%s is not set", memoryVariable)
	}
}

// TestRights: the base may read what is recorded and what the map shows, and ask who may read the metrics;
// the finalizer's file adds one right.
func TestRights(t *testing.T) {
	base, err := rights.Shipped(deploy + "server/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := rights.Granted(base).UnsortedList()
	slices.Sort(got)
	want := []string{
		"create subjectaccessreviews.authorization.k8s.io", "create tokenreviews.authentication.k8s.io",
		"get trainingjobs.mlplatform.example.com", "list namespaces", "list nodes", "list pods",
		"list trainingjobs.mlplatform.example.com", "watch namespaces", "watch nodes", "watch pods",
		"watch trainingjobs.mlplatform.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the base (-want +got):\n%s", diff)
	}
	var finalizer rbacv1.ClusterRole
	decode(t, "server/finalizer.yaml", &finalizer)
	got = rights.Granted(finalizer.Rules).UnsortedList()
	if diff := cmp.Diff([]string{"patch trainingjobs.mlplatform.example.com"}, got); diff != "" {
		t.Errorf("the finalizer's (-want +got):\n%s", diff)
	}
}

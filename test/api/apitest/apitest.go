// Package apitest gives tests a real API server with the TrainingJob API, installed as a user does: the CRD
// and admission policies, without an operator.
package apitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Start starts a cluster without nodes and installs deploy/crd and deploy/admission of the module at root.
// The cluster ends with the test. The client has the rights of an administrator. Further schedulers add their
// kinds to Volcano's.
func Start(t *testing.T, root string, schedulers ...string) client.Client {
	t.Helper()
	c, _ := StartWithConfig(t, root, schedulers...)
	return c
}

// StartWithConfig is Start for tests that make clients of their own.
func StartWithConfig(t *testing.T, root string, schedulers ...string) (client.Client, *rest.Config) {
	t.Helper()
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(t.TempDir(),
			"cluster"), Schedulers: append([]string{localcluster.SchedulerVolcano}, schedulers...), Nodes: -1,
		Attached: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	c, err := client.New(cluster.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"deploy/crd", "deploy/admission"} {
		if err := Install(t.Context(), c, filepath.Join(root, folder)); err != nil {
			t.Fatal(err)
		}
	}
	if err := served(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c, cluster.RESTConfig()
}

// Install applies every object of a file or a folder.
func Install(ctx context.Context, c client.Client, path string) error {
	objects, err := Objects(path)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.Unstructured),
			client.FieldOwner("apitest"), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s: %w", o.Path, err)
		}
	}
	return nil
}

// served waits until the API and the policies take effect, which is some time after they are stored.
func served(ctx context.Context, c client.Client) error {
	probe := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default",
			Labels: map[string]string{v1alpha1.LabelKueueQueue: "a"}},
		Spec: v1alpha1.TrainingJobSpec{Framework: v1alpha1.FrameworkCustom, Image: "i",
			Command: []string{"c"}},
	}
	probe.Spec.RunPolicy.SchedulingPolicy.Queue = "b"
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			last = c.Create(ctx, probe.DeepCopy(), client.DryRunAll)
			return apierrors.IsInvalid(last) || apierrors.IsForbidden(last), nil
		})
	if err != nil {
		return fmt.Errorf("waiting for the API and its policy: %w (last answer: %v)", err, last)
	}
	return nil
}

// Object is one object of a file.
type Object struct {
	*unstructured.Unstructured
	// Path is the file's; Raw is the object as JSON.
	Path string
	Raw  []byte
}

// Objects reads every object of every YAML file below a folder, in the order of the files' names.
func Objects(folder string) ([]Object, error) {
	var objects []Object
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		found, err := Read(path)
		objects = append(objects, found...)
		return err
	})
	return objects, err
}

// Read every object of a YAML file, in its order.
func Read(path string) ([]Object, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var objects []Object
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var raw runtime.RawExtension
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", path, err)
		case len(raw.Raw) == 0 || string(raw.Raw) == "null": // a comment between two separators
			continue
		}
		o := Object{&unstructured.Unstructured{}, path, raw.Raw}
		if err := o.UnmarshalJSON(raw.Raw); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		objects = append(objects, o)
	}
}

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// fieldOwner is who applies what this package applies.
const fieldOwner = "localcluster"

// InstallCRDs applies every CustomResourceDefinition in the folder's YAML files
// (one per file) and waits until the server names its resources: it serves them
// when each is Established, and whoever looks for a kind finds it a moment later,
// on a busy machine seconds.
func (c *Cluster) InstallCRDs(ctx context.Context, folder string) error {
	client, err := dynamic.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing %s: %w", folder, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %s", folder)
	}
	definitions := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	server, err := discovery.NewDiscoveryClientForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, file := range files {
		group.Go(func() error {
			definition, err := readCRD(file)
			if err == nil {
				err = installCRD(ctx, definitions, definition)
			}
			if err == nil {
				err = waitDiscovered(ctx, server, definition)
			}
			if err != nil {
				return fmt.Errorf("installing %s: %w", filepath.Base(file), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func readCRD(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &definition.Object); err != nil {
		return nil, err
	}
	if definition.GetKind() != "CustomResourceDefinition" {
		return nil, fmt.Errorf("it is a %s and not a CustomResourceDefinition", definition.GetKind())
	}
	return definition, nil
}

func installCRD(ctx context.Context, definitions dynamic.ResourceInterface, definition *unstructured.Unstructured) error {
	if _, err := definitions.Apply(ctx, definition.GetName(), definition, metav1.ApplyOptions{FieldManager: fieldOwner, Force: true}); err != nil {
		return err
	}
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		current, err := definitions.Get(ctx, definition.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return established(current)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("waiting for it to be Established: %w", err)
	}
	return err
}

// waitDiscovered waits until every served version of the kind is in the server's list
// of what it has, which clients map kinds to resources by.
func waitDiscovered(ctx context.Context, server discovery.DiscoveryInterface, object *unstructured.Unstructured) error {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return err
	}
	missing := ""
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		_, lists, err := server.ServerGroupsAndResources()
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
			return false, err
		}
		named := sets.New[string]()
		for _, list := range lists {
			for _, resource := range list.APIResources {
				named.Insert(list.GroupVersion + "/" + resource.Name)
			}
		}
		missing = ""
		for _, version := range definition.Spec.Versions {
			resource := definition.Spec.Group + "/" + version.Name + "/" + definition.Spec.Names.Plural
			if version.Served && !named.Has(resource) {
				missing = resource
			}
		}
		return missing == "", nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("waiting until the server names %s: %w", missing, err)
	}
	return err
}

func established(object *unstructured.Unstructured) (bool, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return false, err
	}
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue, nil
		}
	}
	return false, nil
}

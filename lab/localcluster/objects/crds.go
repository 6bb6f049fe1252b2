package objects

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

// InstallCRDs applies every CustomResourceDefinition in the folder's YAML files (one per file), and waits
// until discovery lists its resources. A server serves a resource once its definition is Established;
// discovery, by which clients map kinds to resources, follows a moment later, on a busy machine seconds.
func InstallCRDs(ctx context.Context, config *rest.Config, folder string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
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

func installCRD(
	ctx context.Context, definitions dynamic.ResourceInterface, definition *unstructured.Unstructured,
) error {
	options := metav1.ApplyOptions{FieldManager: fieldOwner, Force: true}
	// On a busy machine the API server gives up on a request that it has not completed in time.
	err := retry.OnError(retry.DefaultBackoff, apierrors.IsTimeout, func() error {
		_, err := definitions.Apply(ctx, definition.GetName(), definition, options)
		return err
	})
	if err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
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

// waitDiscovered waits until discovery lists every served version of the kind.
func waitDiscovered(
	ctx context.Context, server discovery.DiscoveryInterface, object *unstructured.Unstructured,
) error {
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
		missing = missingResource(definition, lists)
		return missing == "", nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("waiting until the server names %s: %w", missing, err)
	}
	return err
}

// missingResource is a resource of the definition that the lists do not have, "" for none.
func missingResource(
	definition *apiextensionsv1.CustomResourceDefinition, lists []*metav1.APIResourceList,
) string {
	listed := sets.New[string]()
	for _, list := range lists {
		for _, resource := range list.APIResources {
			listed.Insert(list.GroupVersion + "/" + resource.Name)
		}
	}
	for _, version := range definition.Spec.Versions {
		resource := definition.Spec.Group + "/" + version.Name + "/" + definition.Spec.Names.Plural
		if version.Served && !listed.Has(resource) {
			return resource
		}
	}
	return ""
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

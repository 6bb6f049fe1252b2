package stack

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Client writes what the users of a stack write. Its methods may be called from several goroutines.
type Client struct {
	renderer Renderer
	api      client.Client
}

// NewClient returns a client of a stack on a cluster.
func NewClient(renderer Renderer, config *rest.Config) (*Client, error) {
	// All objects are sent unstructured, and need no scheme.
	api, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &Client{renderer: renderer, api: api}, nil
}

// Prepare readies a namespace that exists for its first gang. gpus are all that the cluster has.
func (c *Client) Prepare(ctx context.Context, namespace string, gpus int) error {
	for _, object := range c.renderer.Queue(namespace, gpus) {
		err := c.create(ctx, object)
		if err != nil && !(apierrors.IsAlreadyExists(err) && object.GetNamespace() == "") {
			return err
		}
	}
	return nil
}

// Submit creates a gang's objects, one after the other.
func (c *Client) Submit(ctx context.Context, namespace string, gang workload.Gang) error {
	for _, object := range c.renderer.Render(namespace, gang) {
		if err := c.create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes a gang's objects, and in the background what they own. It does nothing for those that are
// gone.
func (c *Client) Delete(ctx context.Context, namespace string, gang workload.Gang) error {
	for _, object := range c.renderer.Render(namespace, gang) {
		sent, err := ToSend(object)
		if err != nil {
			return err
		}
		err = c.api.Delete(ctx, sent, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s %s: %w", sent.GetKind(), sent.GetName(), err)
		}
	}
	return nil
}

func (c *Client) create(ctx context.Context, object client.Object) error {
	sent, err := ToSend(object)
	if err != nil {
		return err
	}
	if err := c.api.Create(ctx, sent); err != nil {
		return fmt.Errorf("creating %s %s: %w", sent.GetKind(), sent.GetName(), err)
	}
	return nil
}

// ToSend is the object as it is sent: without a status, and without the empty fields that Go's types have.
func ToSend(object client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting %s: %w", object.GetName(), err)
	}
	delete(content, "status")
	withoutEmpty(content)
	return &unstructured.Unstructured{Object: content}, nil
}

// withoutEmpty removes what is null, at any depth.
func withoutEmpty(content map[string]any) {
	for key, value := range content {
		switch value := value.(type) {
		case nil:
			delete(content, key)
		case map[string]any:
			withoutEmpty(value)
		case []any:
			for _, element := range value {
				if element, ok := element.(map[string]any); ok {
					withoutEmpty(element)
				}
			}
		}
	}
}

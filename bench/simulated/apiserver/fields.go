package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// fieldOwners keeps who owns which fields of objects: up to half of what a client decodes.
type fieldOwners struct {
	managers map[ownersKey]*managedfields.FieldManager
}

type ownersKey struct {
	kind        schema.GroupVersionKind
	subresource string
}

func newFieldOwners() (*fieldOwners, error) {
	o := &fieldOwners{managers: map[ownersKey]*managedfields.FieldManager{}}
	builtin := applyconfigurations.NewTypeConverter(scheme.Scheme)
	custom := managedfields.NewDeducedTypeConverter()
	for _, r := range resources() {
		for _, sub := range []string{"", "status", Binding} {
			newManager, types := managedfields.NewDefaultFieldManager, builtin
			if r.Custom {
				newManager, types = managedfields.NewDefaultCRDFieldManager, custom
			}
			as := unconverted{}
			m, err := newManager(types, as, as, as, r.Kind, r.Kind.GroupVersion(), sub, nil)
			if err != nil {
				return nil, fmt.Errorf("keeping the owners of the fields of a %s: %w", r.Kind.Kind, err)
			}
			o.managers[ownersKey{r.Kind, sub}] = m
		}
	}
	return o, nil
}

// updated returns an object with the owners of its fields, after a write that was no apply.
func (o *fieldOwners) updated(
	r Resource, subresource string, had, obj runtime.Object, by string,
) runtime.Object {
	return o.managers[ownersKey{r.Kind, subresource}].UpdateNoErrors(had, obj, by)
}

// applied merges what is applied into an object.
func (o *fieldOwners) applied(
	r Resource, subresource string, had, config runtime.Object, by string, force bool,
) (runtime.Object, error) {
	merged, err := o.managers[ownersKey{r.Kind, subresource}].Apply(had, config, by, force)
	u, is := merged.(*unstructured.Unstructured)
	if err != nil || !is || r.Custom {
		return merged, err
	}
	typed, err := r.empty()
	if err != nil {
		return nil, err
	}
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed)
}

// unconverted has every kind in one version, without defaults.
type unconverted struct{}

var (
	_ runtime.ObjectConvertor = unconverted{}
	_ runtime.ObjectDefaulter = unconverted{}
	_ runtime.ObjectCreater   = unconverted{}
)

// Convert implements runtime.ObjectConvertor.
func (unconverted) Convert(in, _, _ any) error { return fmt.Errorf("%T is not converted", in) }

// ConvertToVersion implements runtime.ObjectConvertor.
func (unconverted) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (unconverted) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter.
func (unconverted) Default(runtime.Object) {}

// New implements runtime.ObjectCreater.
func (unconverted) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	if scheme.Scheme.Recognizes(kind) {
		return scheme.Scheme.New(kind)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

package clusterstate

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// The kinds of dynamic resource allocation that are followed where the cluster serves them.
var (
	DeviceClassKind   = resourcev1.SchemeGroupVersion.WithKind("DeviceClass")
	ClaimTemplateKind = resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate")
	DeviceKinds       = []schema.GroupVersionKind{DeviceClassKind, ClaimTemplateKind}
)

// devices are the device classes that serve an extended resource, and what the templates of claims request.
type devices struct {
	classes   map[string]servingClass
	templates map[types.NamespacedName][]scheduler.DeviceRequest
}

type servingClass struct {
	name     string
	resource corev1.ResourceName
	created  metav1.Time
}

func newDevices() devices {
	return devices{
		classes: map[string]servingClass{}, templates: map[types.NamespacedName][]scheduler.DeviceRequest{},
	}
}

// serving returns the classes by the resource that they serve. Of two classes kube-scheduler takes the
// younger one, then the first by name (resourcev1.DeviceClassSpec, ExtendedResourceName).
func (d devices) serving() map[corev1.ResourceName]string {
	all := make([]servingClass, 0, len(d.classes))
	for _, c := range d.classes {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b servingClass) int {
		return cmp.Or(a.created.Compare(b.created.Time), strings.Compare(b.name, a.name))
	})
	serving := make(map[corev1.ResourceName]string, len(all))
	for _, c := range all {
		serving[c.resource] = c.name
	}
	return serving
}

// SetDeviceClasses replaces all device classes.
func (c *Cluster) SetDeviceClasses(all []*resourcev1.DeviceClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.devices.classes)
	for _, class := range all {
		c.setDeviceClass(class)
	}
	c.setListed(DeviceClassKind, allNamespaces)
	c.stale.devices = true
}

// SetDeviceClass records a device class as it is now, and reports whether it serves another resource than
// before.
func (c *Cluster) SetDeviceClass(class *resourcev1.DeviceClass) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale.devices = true
	return c.setDeviceClass(class)
}

func (c *Cluster) setDeviceClass(class *resourcev1.DeviceClass) bool {
	old, known := c.devices.classes[class.Name]
	if class.Spec.ExtendedResourceName == nil {
		delete(c.devices.classes, class.Name)
		return known
	}
	now := servingClass{
		name: strings.Clone(class.Name), created: class.CreationTimestamp,
		resource: corev1.ResourceName(strings.Clone(*class.Spec.ExtendedResourceName)),
	}
	c.devices.classes[now.name] = now
	return old.resource != now.resource
}

// DropDeviceClass records that a device class is deleted, and reports whether it served a resource.
func (c *Cluster) DropDeviceClass(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.devices.classes[name]
	delete(c.devices.classes, name)
	c.stale.devices = true
	return known
}

// SetClaimTemplates replaces all templates of claims of a namespace; without a name, all.
func (c *Cluster) SetClaimTemplates(namespace string, all []*resourcev1.ResourceClaimTemplate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.devices.templates {
		if namespace == allNamespaces || name.Namespace == namespace {
			delete(c.devices.templates, name)
		}
	}
	for _, t := range all {
		c.setClaimTemplate(t)
	}
	c.setListed(ClaimTemplateKind, namespace)
}

// SetClaimTemplate records a template of claims.
func (c *Cluster) SetClaimTemplate(t *resourcev1.ResourceClaimTemplate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setClaimTemplate(t)
}

func (c *Cluster) setClaimTemplate(t *resourcev1.ResourceClaimTemplate) {
	name := types.NamespacedName{Namespace: strings.Clone(t.Namespace), Name: strings.Clone(t.Name)}
	c.devices.templates[name] = scheduler.DeviceRequestsOf(&t.Spec.Spec)
}

// DropClaimTemplate records that a template of claims is deleted.
func (c *Cluster) DropClaimTemplate(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.devices.templates, name)
}

// ServesClaims reports whether the cluster is known to serve templates of claims.
func (c *Cluster) ServesClaims() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.followed[ClaimTemplateKind]
}

// ClaimTemplate returns what a template of claims requests, and whether it exists. It is not known while the
// first list is not in, or the cluster does not serve the kind.
func (c *Cluster) ClaimTemplate(name types.NamespacedName) (
	requests []scheduler.DeviceRequest, exists, known bool,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests, exists = c.devices.templates[name]
	return requests, exists, c.followed[ClaimTemplateKind] && c.allListed(ClaimTemplateKind)
}

// deviceClassSink feeds the device classes. A class that serves another resource changes the reasons of jobs.
func (s *Sources) deviceClassSink(string) *sink {
	return &sink{
		example: &resourcev1.DeviceClass{},
		set: func(o any) {
			if class, ok := o.(*resourcev1.DeviceClass); ok && s.cluster.SetDeviceClass(class) {
				s.changed()
			}
		},
		drop: func(o any) {
			if class, ok := o.(*resourcev1.DeviceClass); ok && s.cluster.DropDeviceClass(class.Name) {
				s.changed()
			}
		},
		replace: func(all []any) {
			s.cluster.SetDeviceClasses(typed[*resourcev1.DeviceClass](all))
			s.changed()
		},
	}
}

// claimTemplateSink feeds the templates of claims. It wakes no job: the next reconcile counts its GPUs.
func (s *Sources) claimTemplateSink(namespace string) *sink {
	return &sink{
		example: &resourcev1.ResourceClaimTemplate{}, trim: trimClaimTemplate,
		set: func(o any) {
			if t, ok := o.(*resourcev1.ResourceClaimTemplate); ok {
				s.cluster.SetClaimTemplate(t)
			}
		},
		drop: func(o any) {
			if t, ok := o.(*resourcev1.ResourceClaimTemplate); ok {
				s.cluster.DropClaimTemplate(types.NamespacedName{Namespace: t.Namespace, Name: t.Name})
			}
		},
		replace: func(all []any) {
			s.cluster.SetClaimTemplates(namespace, typed[*resourcev1.ResourceClaimTemplate](all))
		},
	}
}

// trimClaimTemplate drops what is not counted, such as the parameters of drivers.
func trimClaimTemplate(in any) (any, error) {
	if t, ok := in.(*resourcev1.ResourceClaimTemplate); ok {
		t.ManagedFields, t.Annotations = nil, nil
		t.Spec.Spec.Devices.Config, t.Spec.Spec.Devices.Constraints = nil, nil
	}
	return in, nil
}

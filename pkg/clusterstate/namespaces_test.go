package clusterstate

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestNamespaces: with namespaces a state is never taken for the whole, is complete only once each of them is
// listed, and a list of one of them says nothing about the others.
func TestNamespaces(t *testing.T) {
	c := New("TrainingJob", "team-a", "team-b")
	c.SetNode(newNode("a"))
	c.NodesSynced()
	other := newPod("b1", "a", "2", "llama")
	other.Namespace = "team-b"
	c.SetPods("team-a", []*corev1.Pod{newPod("a1", "a", "4", "bert"), newPod("a2", "a", "1", "")})
	if s := c.State(); s.Complete || !s.Partial {
		t.Errorf("after the first of two lists: complete %t, partial %t", s.Complete, s.Partial)
	}
	c.SetPods("team-b", []*corev1.Pod{other})
	if s := c.State(); !s.Complete || !s.Partial || s.Nodes[0].Free(gpu) != 1 {
		t.Errorf("after both lists: complete %t, partial %t, %+v", s.Complete, s.Partial, s.Nodes)
	}
	c.SetPods("team-a", []*corev1.Pod{newPod("a1", "a", "4", "bert")}) // the watch began again
	if s := c.State(); s.Nodes[0].Free(gpu) != 2 || len(s.Holders) != 2 {
		t.Errorf("after another list of one: %+v, %+v", s.Nodes, s.Holders)
	}
	c.DropPod("team-b", "a1")
	c.DropPod("team-b", "b1")
	if s := c.State(); s.Nodes[0].Free(gpu) != 4 {
		t.Errorf("after the end of b1: %+v", s.Nodes)
	}
	if New("TrainingJob").State().Partial {
		t.Error("an operator that sees all takes its state for a part")
	}
}

func TestObjectsOfNamespaces(t *testing.T) {
	c := New("TrainingJob", "team-a", "team-b")
	gvk := schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "LocalQueue"}
	q := func(namespace, name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	names := func() (list []string) {
		for _, o := range c.State().Objects[gvk] {
			list = append(list, o.GetNamespace()+"/"+o.GetName())
		}
		return list
	}
	c.SetObjects(gvk, "team-a", []client.Object{q("team-a", "research")})
	if _, known := c.State().Objects[gvk]; known {
		t.Error("a kind is known before every list is in")
	}
	c.SetObjects(gvk, "team-b", []client.Object{q("team-b", "old")})
	c.SetObjects(gvk, "team-b", []client.Object{q("team-b", "product")})
	if diff := cmp.Diff([]string{"team-a/research", "team-b/product"}, names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	flavors := schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "ClusterQueue"}
	c.SetObjects(flavors, allNamespaces, nil)
	if _, known := c.State().Objects[flavors]; !known {
		t.Error("a cluster-scoped kind has one list")
	}
}

// TestKnown: what an Explainer asks for counts as well as nodes, pods and classes.
func TestKnown(t *testing.T) {
	c := New("TrainingJob", "team-a", "team-b")
	gvk := schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "LocalQueue"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(gvk, meta.RESTScopeNamespace)
	sources := NewSources(c, fake.NewClientBuilder().WithRESTMapper(mapper).Build(), func() {})
	if err := sources.Follow(explainer{}, gvk); err != nil {
		t.Fatal(err)
	}
	for _, learn := range []func(){
		c.NodesSynced,
		func() { c.SetClasses(nil) },
		func() { c.SetPods("team-a", nil) }, func() { c.SetPods("team-b", nil) },
		func() { c.SetObjects(gvk, "team-a", nil) }, func() { c.SetObjects(gvk, "team-b", nil) },
	} {
		if c.Known() {
			t.Fatal("it is all known before the last list is in")
		}
		learn()
	}
	if !c.Known() {
		t.Error("something is unknown after the last list")
	}
}

// explainer asks for a kind.
type explainer struct{ scheduler.Explainer }

func (explainer) Matters(client.Object, client.Object) bool { return false }

// TestSourcesAskForTheirNamespacesAlone: an operator without rights elsewhere may ask for nothing more.
func TestSourcesAskForTheirNamespacesAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaces, want []string
	}{
		"all": {nil, []string{"ConfigMapList ", "NamespaceList ", "PodList ", "PriorityClassList "}},
		"two": {[]string{"a", "b"}, []string{
			"ConfigMapList a", "ConfigMapList b", "NamespaceList ", "PodList a", "PodList b", "PriorityClassList ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := listed(t, tc.namespaces, len(tc.want))
			if diff := cmp.Diff(tc.want, asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// listed runs Sources, which follow ConfigMaps and Namespaces too, until they have asked for so many lists.
func listed(t *testing.T, namespaces []string, n int) []string {
	mapper := meta.NewDefaultRESTMapper(nil)
	configMap, namespace := corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("Namespace")
	mapper.Add(configMap, meta.RESTScopeNamespace)
	mapper.Add(namespace, meta.RESTScopeRoot)
	var mu sync.Mutex
	asked, all := map[string]bool{}, make(chan struct{})
	// A reflector begins with a list, or with a watch that sends all that exists.
	ask := func(into client.ObjectList, o []client.ListOption) error {
		options := client.ListOptions{}
		options.ApplyOptions(o)
		gvks, _, err := clientgoscheme.Scheme.ObjectKinds(into)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if key := gvks[0].Kind + " " + options.Namespace; !asked[key] {
			if asked[key] = true; len(asked) == n {
				close(all)
			}
		}
		return nil
	}
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithRESTMapper(mapper).WithInterceptorFuncs(
		interceptor.Funcs{
			List: func(_ context.Context, _ client.WithWatch, into client.ObjectList, o ...client.ListOption) error {
				return ask(into, o)
			},
			Watch: func(_ context.Context, _ client.WithWatch, of client.ObjectList, o ...client.ListOption) (
				watch.Interface, error) {
				return watch.NewFake(), ask(of, o)
			},
		}).Build()
	s := NewSources(New("TrainingJob", namespaces...), c, func() {})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	if err := s.Follow(explainer{}, configMap); err != nil { // before the start, and after
		t.Fatal(err)
	}
	go func() { ended <- s.Start(ctx) }()
	if err := s.Follow(explainer{}, namespace); err != nil {
		t.Fatal(err)
	}
	select {
	case <-all:
	case <-time.After(time.Minute):
		t.Error("it does not ask for everything")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	var list []string
	for key := range asked {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

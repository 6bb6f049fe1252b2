//go:build cluster

package corpus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// TestHostileBesideARunningGang stores every job that the operator must refuse, on an API server without any
// admission policy and whose CRD says nothing but types, beside a gang that runs. The operator refuses each,
// makes nothing for it, and goes on with the gang.
func TestHostileBesideARunningGang(t *testing.T) {
	cluster, err := harness.Start(t.Context(), harness.Options{
		Root: "../..", Schedulers: []string{localcluster.SchedulerVolcano}, Nodes: 1,
		Backends:    []scheduler.Backend{volcano.New(volcano.DefaultOptions())},
		AddToScheme: []func(*runtime.Scheme) error{volcanov1beta1.AddToScheme},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	loosenCRD(t, cluster.Client)
	good := cluster.NewNamespace(t, v1alpha1.SchedulerVolcano, 0)
	good.Create(good.Gang("neighbour", 2, "4"))
	before := good.Reaches("neighbour", v1alpha1.PhaseRunning)

	hostile := cluster.NewNamespace(t, v1alpha1.SchedulerVolcano, 0)
	stored := store(t, hostile)
	if len(stored) < least {
		t.Fatalf("only %d hostile jobs are stored: the API server still refuses them", len(stored))
	}
	t.Logf("%d hostile jobs are stored", len(stored))
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		job := hostile.Reaches(name, v1alpha1.PhaseFailed)
		if !strings.Contains(job.Status.Message, stored[name]) {
			t.Errorf("%s says %q, want %q", name, job.Status.Message, stored[name])
		}
	}
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{},
		&volcanov1beta1.PodGroupList{},
	} {
		if err := cluster.Client.List(t.Context(), list, client.InNamespace(hostile.Name)); err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n > 0 {
			t.Errorf("hostile jobs were given %d objects of %T", n, list)
		}
	}

	after, err := good.Get(t.Context(), "neighbour")
	if err != nil {
		t.Fatal(err)
	}
	if after.Status.Attempt != 1 || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the neighbour was touched: %+v", after.Status)
	}
	pods := &corev1.PodList{}
	if err := cluster.Client.List(t.Context(), pods, client.InNamespace(good.Name)); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		const exit = `{"metadata":{"annotations":{%q:"0"}}}`
		good.MergePatch(&pod, fmt.Sprintf(exit, localcluster.AnnotationRunSeconds))
	}
	good.Reaches("neighbour", v1alpha1.PhaseSucceeded)
}

// store creates the jobs of all cases that the operator must refuse, and returns what each is to say. What
// not even an API server without rules takes is left out.
func store(t *testing.T, n *harness.Namespace) map[string]string {
	t.Helper()
	b, cases := readBases(t), readCases(t)
	stored := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		says := c.Says
		if c.Operator != nil {
			says = *c.Operator
		}
		if c.Phase != "" || says == "-" {
			continue
		}
		object, _ := c.objects(t, b)
		u := &unstructured.Unstructured{Object: object}
		if u.GetName() == "job" { // else the name is what the case is about
			u.SetName(fmt.Sprintf("job-%d", i))
		}
		u.SetNamespace(n.Name)
		if typed, err := c.job(t, b); err != nil || spec.ManagedElsewhere(typed) {
			continue
		}
		err := n.Client.Create(t.Context(), u)
		switch {
		case apierrors.IsAlreadyExists(err):
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
			t.Logf("%s cannot be stored: %.200s", name, err)
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		default:
			stored[u.GetName()] = says
		}
	}
	return stored
}

// loosenCRD takes everything but types out of the CRD's schema, and waits until the API server has it.
func loosenCRD(t *testing.T, c client.Client) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	key := types.NamespacedName{Name: "trainingjobs." + v1alpha1.GroupVersion.Group}
	if err := c.Get(t.Context(), key, crd); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		loosen(v.(map[string]any)["schema"])
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	b, refused := readBases(t), error(nil)
	taken := func(ctx context.Context) (bool, error) {
		object, _ := Case{With: map[string]any{"spec": map[string]any{"framework": "none"}}}.objects(t, b)
		err := c.Create(ctx, &unstructured.Unstructured{Object: object}, client.DryRunAll)
		if ctx.Err() == nil {
			refused = err
		}
		return err == nil, nil
	}
	if err := poll(t, taken); err != nil {
		t.Fatalf("waiting until the API server takes what it refused: %v: %v", err, refused)
	}
}

// rulesOfSchemas are the keys of a schema besides types.
var rulesOfSchemas = []string{
	"x-kubernetes-validations", "maxLength", "minLength", "maxItems", "minItems", "maxProperties",
	"minProperties", "maximum", "minimum", "pattern", "enum", "required", "x-kubernetes-list-type",
	"x-kubernetes-list-map-keys",
}

func loosen(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		for _, rule := range rulesOfSchemas {
			if _, isField := s[rule].(map[string]any); !isField {
				delete(s, rule)
			}
		}
		for _, below := range s {
			loosen(below)
		}
	case []any:
		for _, below := range s {
			loosen(below)
		}
	}
}

package queuereader

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

var (
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, "", errors.New("no"))
	errNotServed = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "any"}}
	errAway      = errors.New("away")
)

// TestRead: a kind that cannot be listed is reported and does not affect the others; another error ends the
// Read.
func TestRead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := queues.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	quota := func(namespace string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gpus"}}
	}
	stored := fake.NewClientBuilder().WithScheme(scheme).WithObjects(quota("a"), quota("b"), quota("c"),
		&volcanov1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "research"}}).Build()
	for name, c := range map[string]struct {
		reason string
		reader Reader
		errs   func(kind, namespace string) error
		want   string // what was read
		skip   []string
		err    error
	}{
		"everything": {
			"of all namespaces", Reader{}, func(string, string) error { return nil }, "research a b c", nil, nil,
		},
		"one namespace": {
			"and the whole cluster's queues", Reader{Namespace: "b"}, func(string, string) error { return nil },
			"research b", nil, nil,
		},
		"namespace by namespace": {
			"where all at once are forbidden", Reader{Others: []string{"a", "c", "secret"}},
			func(kind, namespace string) error {
				if kind == "ResourceQuota" && (namespace == "" || namespace == "secret") {
					return errForbidden
				}
				return nil
			}, "research a c", []string{"ResourceQuota partly"}, nil,
		},
		"no namespace": {
			"that may be listed", Reader{Others: []string{"a"}}, func(kind, _ string) error {
				if kind == "ResourceQuota" {
					return errForbidden
				}
				return nil
			}, "research", []string{"ResourceQuota"}, nil,
		},
		"not served": {
			"differs from forbidden", Reader{}, func(kind, _ string) error {
				return map[string]error{"Queue": errNotServed, "ElasticQuota": errForbidden}[kind]
			}, "a b c", []string{"ElasticQuota", "Queue not served"}, nil,
		},
		"skipped by the caller": {
			"by its own rule", Reader{Skips: func(err error) bool { return errors.Is(err, errAway) }},
			func(kind, _ string) error { return map[string]error{"Queue": errAway}[kind] },
			"a b c", []string{"Queue"}, nil,
		},
		"an error": {
			"that skips no kind", Reader{},
			func(kind, _ string) error { return map[string]error{"Queue": errAway}[kind] }, "", nil, errAway,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.reader.Client = interceptor.NewClient(stored, interceptor.Funcs{List: func(
				ctx context.Context, inner client.WithWatch, l client.ObjectList, opts ...client.ListOption,
			) error {
				var o client.ListOptions
				if err := c.errs(KindOf(l), o.ApplyOptions(opts).Namespace); err != nil {
					return err
				}
				return inner.List(ctx, l, opts...)
			}})
			objects, skipped, err := c.reader.Read(t.Context())
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			var read, skip []string
			for i := range objects.VolcanoQueues {
				read = append(read, objects.VolcanoQueues[i].Name)
			}
			for i := range objects.ResourceQuotas {
				read = append(read, objects.ResourceQuotas[i].Namespace)
			}
			for _, s := range skipped {
				text := s.Kind
				if s.Partly {
					text += " partly"
				}
				if s.NotServed() {
					text += " not served"
				}
				skip = append(skip, text)
			}
			if diff := cmp.Diff(c.want, strings.Join(read, " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.skip, skip); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

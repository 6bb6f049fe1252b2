//go:build cluster

package convert_test

import (
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// TestResultsPassTheAPIServer applies every result in a dry run, with strict field validation: jobs, and what
// is written beside them.
func TestResultsPassTheAPIServer(t *testing.T) {
	cluster := apitest.Start(t, "../..", localcluster.SchedulerKueue)
	c := client.WithFieldValidation(cluster, metav1.FieldValidationStrict)
	made := map[string]bool{"default": true}
	for _, path := range inputs(t) {
		objects, _ := converted(t, path)
		for _, o := range objects {
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			if u.GetNamespace() == "" {
				u.SetNamespace("default")
			}
			if ns := u.GetNamespace(); !made[ns] {
				made[ns] = true
				err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Run(path+"/"+u.GetKind()+"/"+u.GetName(), func(t *testing.T) {
				err := c.Create(t.Context(), u, client.DryRunAll)
				var status apierrors.APIStatus
				if errors.As(err, &status) {
					t.Errorf("%s: %s", status.Status().Reason, status.Status().Message)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

package api_test

import (
	"encoding/json"
	"testing"

	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// The CRD stays below what `kubectl apply` can store in its annotation (256 KiB), with some space for labels
// and annotations of an installation, and far below etcd's limit (1.5 MiB).
func TestCRDIsSmall(t *testing.T) {
	objects, err := apitest.Objects("../../deploy/crd")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			t.Errorf("%s: deploy/crd holds CRDs only, so that kubectl apply -f deploy/crd suffices; found "+
				"a %s", o.Path, o.GetKind())
		}
		raw, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 240<<10 {
			t.Errorf("%s has %d bytes of JSON; drop descriptions of foreign types "+
				"(api/v1alpha1/rules.yaml, foreign)", o.Path, len(raw))
		}
	}
}

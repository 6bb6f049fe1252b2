package apiserver

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// patched is an object with a patch, which may also name the version that it is for.
func (r Resource) patched(had runtime.Object, kind types.PatchType, patch []byte) (runtime.Object, error) {
	text, err := r.encode(had, formatJSON)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == types.MergePatchType:
		text, err = jsonpatch.MergePatch(text, patch)
	case kind == types.JSONPatchType:
		var steps jsonpatch.Patch
		if steps, err = jsonpatch.DecodePatch(patch); err == nil {
			text, err = steps.Apply(text)
		}
	case kind == types.StrategicMergePatchType && !r.Custom:
		text, err = strategicpatch.StrategicMergePatch(text, patch, had)
	default:
		return nil, errUnknown{"patches of type " + string(kind) + " of a " + r.Kind.Kind}
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("patching: " + err.Error())
	}
	return r.decode(text)
}

// unstructured is a configuration that is applied, which is YAML or JSON.
func (r Resource) unstructured(text []byte) (runtime.Object, error) {
	text, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, json.Unmarshal(text, &u.Object)
}

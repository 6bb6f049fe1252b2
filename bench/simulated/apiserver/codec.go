package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// format of objects on the wire.
type format int

const (
	formatJSON format = iota
	formatProtobuf
	formats
)

// mediaTypes by format.
var mediaTypes = [formats]string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

// serializers of built-in kinds by format. They convert nothing: every kind has one version.
var serializers = func() (infos [formats]runtime.SerializerInfo) {
	for f, name := range mediaTypes {
		infos[f], _ = runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), name) // client-go has both
	}
	return infos
}()

var codecs serializer.CodecFactory = scheme.Codecs

var statusType = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}

// encode an object of a resource.
func (r Resource) encode(obj runtime.Object, to format) ([]byte, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return json.Marshal(u.Object)
	}
	obj.GetObjectKind().SetGroupVersionKind(r.Kind)
	return runtime.Encode(serializers[to].Serializer, obj)
}

// stored is the format in which the objects of a resource are kept.
func (r Resource) stored() format {
	if r.Custom {
		return formatJSON
	}
	return formatProtobuf
}

// decode what encode has made of an object.
func (r Resource) decode(text []byte) (runtime.Object, error) {
	if r.Custom {
		u := &unstructured.Unstructured{}
		return u, u.UnmarshalJSON(text)
	}
	into, err := r.empty()
	if err != nil {
		return nil, err
	}
	obj, kind, err := codecs.UniversalDeserializer().Decode(text, &r.Kind, into)
	if err != nil {
		return nil, err
	}
	if *kind != r.Kind {
		return nil, fmt.Errorf("it is a %s and no %s", kind.Kind, r.Kind.Kind)
	}
	obj.GetObjectKind().SetGroupVersionKind(r.Kind)
	return obj, nil
}

// empty is an object of a resource without content.
func (r Resource) empty() (runtime.Object, error) {
	if r.Custom {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(r.Kind)
		return u, nil
	}
	obj, err := scheme.Scheme.New(r.Kind)
	if err == nil {
		obj.GetObjectKind().SetGroupVersionKind(r.Kind)
	}
	return obj, err
}

// transcode the stored bytes of an object.
func (r Resource) transcode(stored []byte, to format) ([]byte, error) {
	if to == r.stored() {
		return stored, nil
	}
	obj, err := r.decode(stored)
	if err != nil {
		return nil, err
	}
	return r.encode(obj, to)
}

// list encodes a list of objects, each as it is stored.
func (r Resource) list(items [][]byte, version string, to format) ([]byte, error) {
	kind := schema.GroupVersionKind{Group: r.Kind.Group, Version: r.Kind.Version, Kind: r.Kind.Kind + "List"}
	if to == formatJSON {
		return r.listJSON(items, version, kind)
	}
	list, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	objects := make([]runtime.Object, len(items))
	for i, item := range items {
		if objects[i], err = r.decode(item); err != nil {
			return nil, err
		}
	}
	if err := meta.SetList(list, objects); err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(version)
	list.GetObjectKind().SetGroupVersionKind(kind)
	return runtime.Encode(serializers[to].Serializer, list)
}

func (r Resource) listJSON(items [][]byte, version string, kind schema.GroupVersionKind) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q},"items":[`, kind.Kind,
		kind.GroupVersion(), version)
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := r.transcode(item, formatJSON)
		if err != nil {
			return nil, err
		}
		b.Write(bytes.TrimSpace(text))
	}
	b.WriteString("]}")
	return b.Bytes(), nil
}

// accepted is the first format of a request's Accept header that a resource has. Representations of objects
// as something else, such as their metadata alone, are none.
func (r Resource) accepted(req *http.Request) (format, error) {
	header := req.Header.Get("Accept")
	for clause := range strings.SplitSeq(header, ",") {
		name, params, err := mime.ParseMediaType(clause)
		switch {
		case err != nil || params["as"] != "":
		case name == runtime.ContentTypeProtobuf && !r.Custom:
			return formatProtobuf, nil
		case name == runtime.ContentTypeJSON || name == "*/*":
			return formatJSON, nil
		}
	}
	if header == "" {
		return formatJSON, nil
	}
	return 0, fmt.Errorf("it accepts only %s", header)
}

func writeJSON(w http.ResponseWriter, code int, what any) {
	text, err := json.Marshal(what)
	if err != nil {
		code, text = http.StatusInternalServerError, []byte(err.Error())
	}
	write(w, code, runtime.ContentTypeJSON, text)
}

func write(w http.ResponseWriter, code int, contentType string, text []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(text) // a client that is gone needs no answer
}

func groupVersionOf(path string) (schema.GroupVersion, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "api":
		return schema.GroupVersion{Version: parts[1]}, true
	case len(parts) == 3 && parts[0] == "apis":
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}, true
	}
	return schema.GroupVersion{}, false
}

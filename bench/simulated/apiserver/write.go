package apiserver

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// manager is who owns the fields that a request writes.
func (c call) manager() string {
	if name := c.request.URL.Query().Get("fieldManager"); name != "" {
		return name
	}
	return c.agent
}

func (c call) body() ([]byte, error) {
	text, err := io.ReadAll(c.request.Body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return text, nil
}

// object of the request's body.
func (c call) object() (runtime.Object, error) {
	text, err := c.body()
	if err != nil {
		return nil, err
	}
	obj, err := c.collection.resource.decode(text)
	if err != nil {
		return nil, apierrors.NewBadRequest("reading the object: " + err.Error())
	}
	return obj, nil
}

func (s *Server) create(c call) ([]byte, error) {
	if c.Subresource != "" {
		return nil, errUnknown{"how to create a " + c.Resource + "/" + c.Subresource}
	}
	obj, err := c.object()
	if err != nil {
		return nil, err
	}
	v, err := s.createObject(c.collection, c.Namespace, obj, c.manager())
	if err != nil {
		return nil, err
	}
	return c.collection.resource.transcode(v.stored, c.format)
}

// change an object by an update or a patch.
func (s *Server) change(c call) ([]byte, error) {
	var edit editor
	if c.Verb == "patch" {
		text, err := c.body()
		if err != nil {
			return nil, err
		}
		mediaType, _, err := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if types.PatchType(mediaType) == types.ApplyPatchType {
			return s.apply(c, text)
		}
		edit = func(had runtime.Object) (runtime.Object, error) {
			return c.collection.resource.patched(had, types.PatchType(mediaType), text)
		}
	} else {
		obj, err := c.object()
		if err != nil {
			return nil, err
		}
		edit = func(runtime.Object) (runtime.Object, error) { return obj.DeepCopyObject(), nil }
	}
	v, err := s.changeObject(c.collection, c.key(), c.Subresource, edit,
		func(had, obj runtime.Object) (runtime.Object, error) {
			return s.fields.updated(c.collection.resource, c.Subresource, had, obj, c.manager()), nil
		})
	if err != nil {
		return nil, err
	}
	return c.collection.resource.transcode(v.stored, c.format)
}

// apply a configuration on the server's side, to an object that exists: what is created is created by Create.
func (s *Server) apply(c call, text []byte) ([]byte, error) {
	r := c.collection.resource
	config := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(text, config); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if c.collection.get(c.key()) == nil {
		if config.UID != "" {
			return nil, apierrors.NewConflict(r.GVR().GroupResource(), c.Name, fmt.Errorf(
				"uid mismatch: the provided object specified uid %s, and no existing object was found", config.UID))
		}
		return nil, errUnknown{"how to create a " + r.Kind.Kind + " by an apply"}
	}
	force := c.request.URL.Query().Get("force") == "true"
	v, err := s.changeObject(c.collection, c.key(), c.Subresource,
		func(had runtime.Object) (runtime.Object, error) {
			applied, err := r.unstructured(text)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return s.fields.applied(r, c.Subresource, had, applied, c.manager(), force)
		},
		func(_, obj runtime.Object) (runtime.Object, error) { return obj, nil })
	if err != nil {
		return nil, err
	}
	return r.transcode(v.stored, c.format)
}

func (s *Server) delete(c call) ([]byte, error) {
	text, err := c.body()
	if err != nil {
		return nil, err
	}
	options, err := deleteOptions(c.request.Header, text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	v, gone, err := s.deleteObject(c.collection, c.key(), options)
	if err != nil {
		return nil, err
	}
	if !gone {
		return c.collection.resource.transcode(v.stored, c.format)
	}
	status := &metav1.Status{
		TypeMeta: statusType, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: c.Name, UID: v.uid, Kind: c.Resource, Group: c.APIGroup},
	}
	return runtime.Encode(serializers[c.format].Serializer, status)
}

// deleteOptions of a request. Their kind is registered in every group, so it is not looked at.
func deleteOptions(header http.Header, text []byte) (metav1.DeleteOptions, error) {
	var options metav1.DeleteOptions
	if len(text) == 0 {
		return options, nil
	}
	if header.Get("Content-Type") != runtime.ContentTypeProtobuf {
		return options, json.Unmarshal(text, &options)
	}
	const prefix = 4 // "k8s" and a zero
	var unknown runtime.Unknown
	if len(text) < prefix {
		return options, fmt.Errorf("%d bytes are no message", len(text))
	}
	if err := unknown.Unmarshal(text[prefix:]); err != nil {
		return options, err
	}
	return options, options.Unmarshal(unknown.Raw)
}

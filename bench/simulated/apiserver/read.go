package apiserver

import (
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// get an object.
func (s *Server) get(c call) ([]byte, error) {
	v := c.collection.get(c.key())
	if v == nil {
		return nil, c.collection.notFound(c.key())
	}
	return c.collection.resource.transcode(v.stored, c.format)
}

// list all objects that are meant: a server need not heed a limit.
func (s *Server) list(c call) ([]byte, error) {
	query := c.request.URL.Query()
	if query.Get("continue") != "" {
		return nil, errUnknown{"how to continue a list"}
	}
	of, err := c.selector()
	if err != nil {
		return nil, err
	}
	versions, number, _ := c.collection.snapshot(of)
	items := make([][]byte, len(versions))
	for i, v := range versions {
		items[i] = v.stored
	}
	return c.collection.resource.list(items, strconv.FormatUint(number, 10), c.format)
}

func (c call) selector() (selector, error) {
	of, err := c.collection.resource.selectorOf(c.Namespace, c.request.URL.Query())
	if err != nil {
		return of, apierrors.NewBadRequest(err.Error())
	}
	return of, nil
}

func (c *collection) notFound(k key) error {
	return apierrors.NewNotFound(c.resource.GVR().GroupResource(), k.name)
}

package tfjob

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// chunk is how many jobs one request to the API server returns.
const chunk = 500

// list returns the jobs of a partition: the newest first, then by name.
func (h *Handler) list(k *call) (any, error) {
	start, limit, err := h.page(k)
	if err != nil {
		return nil, err
	}
	items, err := h.all(k)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(items, func(a, b tfjobadmin.Document) int {
		return cmp.Or(b.Metadata.CreationTime.Compare(a.Metadata.CreationTime),
			cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	total := len(items)
	from := min(start, total)
	return tfjobadmin.List{
		Metadata: tfjobadmin.ListMetadata{Total: total}, Items: items[from:min(from+limit, total)],
	}, nil
}

// all returns the documents of all jobs of the partition that the caller may list.
func (h *Handler) all(k *call) ([]tfjobadmin.Document, error) {
	items := []tfjobadmin.Document{}
	limit, next := int64(chunk), ""
	for {
		var jobs v1alpha1.TrainingJobList
		err := k.client.List(k.Context(), &jobs, client.InNamespace(k.partition), client.Limit(limit),
			client.Continue(next))
		if apierrors.IsResourceExpired(err) && next != "" { // the chunks took too long: list all at once
			items, limit, next = items[:0], 0, ""
			continue
		}
		if err != nil {
			return nil, h.refused(k, err, noField)
		}
		for i := range jobs.Items {
			items = append(items, h.describer.Describe(&jobs.Items[i]))
		}
		if next = jobs.Continue; next == "" {
			return items, nil
		}
	}
}

// page returns the parameters start and limit.
func (h *Handler) page(k *call) (start, limit int, err error) {
	limit = h.Config.Maximums.ListItems
	bounds := map[string]struct {
		into        *int
		least, most int
	}{"start": {&start, 0, 1 << 30}, "limit": {&limit, 1, limit}}
	query := k.URL.Query()
	for name, values := range query {
		bound, known := bounds[name]
		if !known {
			return 0, 0, problem.New(problem.Invalid,
				"unknown parameter",
				"use start and limit").About("query." + name)
		}
		n, err := strconv.Atoi(values[0])
		if err != nil || n < bound.least || n > bound.most || len(values) > 1 {
			return 0, 0, problem.New(problem.Invalid,
				fmt.Sprintf("%q is not a number from %d to %d", values[0], bound.least, bound.most),
				"set such a number").About("query." + name)
		}
		*bound.into = n
	}
	return start, limit, nil
}

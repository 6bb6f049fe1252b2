package memory

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTypesOfErrors(t *testing.T) {
	jobs := schema.GroupResource{Resource: "trainingjobs"}
	conflict := fmt.Errorf("writing: %w", apierrors.NewConflict(jobs, "bert", errors.New("changed")))
	tests := map[string]struct {
		err  error
		want []ErrorType
	}{
		"none":     {nil, nil},
		"canceled": {fmt.Errorf("reading: %w", context.Canceled), nil},
		"conflict": {conflict, []ErrorType{ErrorConflict}},
		"stale":    {fmt.Errorf("applying: %w", ErrStale), []ErrorType{ErrorStale}},
		"rejected": {
			errors.Join(&Rejection{}, &Rejection{}), []ErrorType{ErrorRejected},
		},
		"api":         {apierrors.NewInternalError(errors.New("etcd")), []ErrorType{ErrorAPI}},
		"unreachable": {&url.Error{Op: "Get", Err: errors.New("refused")}, []ErrorType{ErrorAPI}},
		"a bug":       {errors.New("no role"), []ErrorType{ErrorInternal}},
		"several, once each": {errors.Join(errors.Join(conflict, conflict), ErrStale),
			[]ErrorType{ErrorConflict, ErrorStale}},
	}
	for name, tc := range tests {
		if got := TypesOf(tc.err); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
		for _, typ := range TypesOf(tc.err) {
			if !slices.Contains(ErrorTypes, typ) {
				t.Errorf("%s: %s is not in the list", name, typ)
			}
		}
	}
}

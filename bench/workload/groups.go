package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// fileGroup is gangs of a kind. Absent counts are 1, an absent priority is normal.
type fileGroup struct {
	Name        string   `json:"name"`
	Count       *int     `json:"count"`
	Ranks       int      `json:"ranks"`
	GPUs        *int     `json:"gpus"`
	Priority    Priority `json:"priority"`
	At          scalar   `json:"at"`
	Every       scalar   `json:"every"`
	Train       scalar   `json:"train"`
	Checkpoint  scalar   `json:"checkpoint"`
	DeleteAfter scalar   `json:"deleteAfter"`
	Never       bool     `json:"never"`
}

// scalar is a duration as it stands in a file: a string such as "5s", or another value, which is none.
type scalar string

// UnmarshalJSON takes every value as it is, so that duration can name its field.
func (s *scalar) UnmarshalJSON(data []byte) error {
	var text string // stays empty for null
	if err := json.Unmarshal(data, &text); err != nil {
		text = string(data)
	}
	*s = scalar(text)
	return nil
}

// duration writes a value to a field, unless it is absent.
func (s scalar) duration(path *field.Path, to *time.Duration) field.ErrorList {
	if s == "" {
		return nil
	}
	d, err := time.ParseDuration(string(s))
	if err != nil {
		return field.ErrorList{field.Invalid(path, string(s),
			"must be a number with a unit, such as 500ms, 5s, 10m or 2h")}
	}
	*to = d
	return validateTime(path, d)
}

// fromGroups is the gangs that the file describes, each group held against the cluster before it is written
// out, so that errors name the group.
func (f file) fromGroups() (Workload, field.ErrorList) {
	w := Workload{
		Name: f.Name, Question: cmp.Or(f.Question, fmt.Sprintf("How do the gangs of %s fare?", f.Name)),
		Nodes: f.Nodes, GPUsPerNode: f.GPUsPerNode, End: cmp.Or(f.End, EndFinished),
	}
	errs := slices.Concat(
		validateCluster(w), f.failures(&w), f.Idle.duration(field.NewPath("idle"), &w.Idle),
		f.Cut.duration(field.NewPath("cut"), &w.Cut),
	)
	names := map[string]bool{}
	for i, group := range f.Gangs {
		path := field.NewPath("gangs").Index(i)
		group.Name = cmp.Or(group.Name, fmt.Sprintf("group-%d", i))
		if names[group.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), group.Name))
		}
		names[group.Name] = true
		gangs, wrong := group.gangs(path, w)
		w.Gangs, errs = append(w.Gangs, gangs...), append(errs, wrong...)
		if len(errs) >= maxErrors || len(w.Gangs) > MaxGangs {
			break
		}
	}
	slices.SortFunc(w.Gangs, byArrival)
	if f.Cut == "" && len(errs) == 0 {
		w.Cut = w.bound()
	}
	return w, errs
}

// gangs of a group in a workload, none where the group is wrong.
func (group fileGroup) gangs(path *field.Path, w Workload) ([]Gang, field.ErrorList) {
	g := Gang{
		Name: group.Name, Ranks: group.Ranks, GPUs: ptr.Deref(group.GPUs, 1),
		Priority: cmp.Or(group.Priority, PriorityNormal), Never: group.Never,
	}
	var every time.Duration
	count := ptr.Deref(group.Count, 1)
	errs := slices.Concat(
		validateLabel(path.Child("name"), group.Name, MaxGangName-len("-00000")),
		validateCount(path.Child("count"), count, MaxGangs),
		group.At.duration(path.Child("at"), &g.At), group.Every.duration(path.Child("every"), &every),
		group.Train.duration(path.Child("train"), &g.Train),
		group.Checkpoint.duration(path.Child("checkpoint"), &g.Checkpoint),
		group.DeleteAfter.duration(path.Child("deleteAfter"), &g.DeleteAfter),
	)
	if len(errs) == 0 {
		errs = append(validateGang(path, g, w), validateSpacing(path.Child("every"), g.At, every, count, w.Cut)...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return several(group.Name, count, g, every), nil
}

// validateSpacing of several gangs: the last comes before the cut, or MaxTime where there is none.
func validateSpacing(path *field.Path, first, every time.Duration, n int, cut time.Duration) field.ErrorList {
	last := cmp.Or(cut, MaxTime)
	if n > 1 && every > (last-first)/time.Duration(n-1) {
		return field.ErrorList{field.Invalid(path, every.String(), fmt.Sprintf(
			"the last of %d gangs comes after %s: raise cut, or give fewer gangs", n, last))}
	}
	return nil
}

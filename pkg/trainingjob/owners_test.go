package trainingjob

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// ownerOf returns the writer of the longest path in owners that stands for a field.
func ownerOf(field string) (owner writer, path string) {
	for r, paths := range owners {
		for _, p := range paths {
			if (field == p || strings.HasPrefix(field, p+".")) && len(p) > len(path) {
				owner, path = r, p
			}
		}
	}
	return owner, path
}

// TestOwners checks that owners names one writer for each field of the status. The simulation checks that no
// other package writes it.
func TestOwners(t *testing.T) {
	var all []string
	for _, paths := range owners {
		all = append(all, paths...)
	}
	slices.Sort(all)
	for i, path := range all[1:] {
		if path == all[i] {
			t.Errorf("%s has two owners", path)
		}
	}
	stands := map[string]bool{}
	for _, field := range fieldsOf(reflect.TypeFor[v1alpha1.TrainingJobStatus](), "") {
		owner, path := ownerOf(field)
		if owner == noWriter {
			t.Errorf("no package owns %s: add it to owners.go", field)
		}
		stands[path] = true
	}
	for _, path := range all {
		if !stands[path] && !strings.HasPrefix(path, "conditions.") {
			t.Errorf("%s is no field of the status, or longer paths name everything below it", path)
		}
	}
}

// fieldsOf lists the paths of the leaves of a struct, by JSON names.
func fieldsOf(t reflect.Type, prefix string) []string {
	if t = structOf(t); t == nil {
		return []string{prefix}
	}
	var fields []string
	for i := range t.NumField() {
		fields = append(fields, fieldsOf(t.Field(i).Type, join(prefix, t.Field(i)))...)
	}
	return fields
}

// structOf returns the struct that a type is or points to, nil for leaves.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1alpha1.TrainingJobStatus]().PkgPath() {
		return nil
	}
	return t
}

func join(prefix string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.TrimPrefix(prefix+"."+name, ".")
}

// checkOwners carries out a step, and reports the fields that it changed and that its owner does not have.
func (sim *simulation) checkOwners(s step, d *draft) {
	sim.t.Helper()
	objects, before := d.p.Status, *d.p.Status.DeepCopy()
	s.do(d)
	after := d.p.Status
	if s.owner == noWriter {
		restored := *d.o.Job.Status.DeepCopy()
		restored.ObservedGeneration = after.ObservedGeneration
		if !apiequality.Semantic.DeepEqual(after, before) && !apiequality.Semantic.DeepEqual(after, restored) {
			sim.t.Error("the status that is held back is neither the planned nor the persisted one")
		}
		return
	}
	changed := changedFields(reflect.ValueOf(objects), reflect.ValueOf(before), reflect.ValueOf(after), "")
	for _, field := range changed {
		if owner, _ := ownerOf(field); owner != s.owner {
			sim.t.Errorf("a step of %q changed status.%s, which is owned by %q", s.owner, field, owner)
		}
	}
}

// changedFields lists the leaves that differ, and the objects that were removed or replaced. objects is the
// struct whose copy is before: it has the same pointers as after, unless an object was replaced.
func changedFields(objects, before, after reflect.Value, path string) []string {
	if conditions, is := before.Interface().([]metav1.Condition); is {
		return changedConditions(conditions, after.Interface().([]metav1.Condition), path)
	}
	if structOf(before.Type()) == nil {
		if apiequality.Semantic.DeepEqual(before.Interface(), after.Interface()) {
			return nil
		}
		return []string{path}
	}
	var changed []string
	if before.Kind() == reflect.Pointer {
		if !before.IsNil() && (after.IsNil() || objects.Pointer() != after.Pointer()) {
			changed = append(changed, path)
		}
		if after.IsNil() {
			return changed
		}
		if before.IsNil() || len(changed) > 0 {
			before = reflect.New(before.Type().Elem())
			objects = before
		}
		objects, before, after = objects.Elem(), before.Elem(), after.Elem()
	}
	for i := range before.NumField() {
		field := join(path, before.Type().Field(i))
		changed = append(changed, changedFields(objects.Field(i), before.Field(i), after.Field(i), field)...)
	}
	return changed
}

func changedConditions(before, after []metav1.Condition, path string) []string {
	var changed []string
	for _, c := range slices.Concat(before, after) {
		same := func(list []metav1.Condition) []metav1.Condition {
			return slices.DeleteFunc(slices.Clone(list), func(o metav1.Condition) bool { return o.Type != c.Type })
		}
		if !apiequality.Semantic.DeepEqual(same(before), same(after)) {
			changed = append(changed, path+"."+c.Type)
		}
	}
	return changed
}

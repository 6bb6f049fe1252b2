package controller

import (
	"reflect"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// maxShared is the longest string that is shared, in bytes. Names and reasons are shorter; programs and their
// arguments seldom equal those of another job.
const maxShared = 64

var requirements = reflect.TypeFor[corev1.ResourceRequirements]()

// share lets everything below an object that is about to be cached refer to memory that it has in common with
// other objects: strings such as the kinds of owners, the names of labels and what conditions say, of which
// decoding makes new ones for every object; and limits that are what is requested. Nobody changes what is
// cached.
func share(object any) { shareBelow(reflect.ValueOf(object)) }

func shareBelow(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			shareBelow(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				shareBelow(f)
			}
		}
		if v.Type() == requirements {
			shareRequests(v.Addr().Interface().(*corev1.ResourceRequirements))
		}
	case reflect.Slice:
		shareInSlice(v)
	case reflect.Map:
		shareInMap(v)
	case reflect.String:
		if n := v.Len(); n > 0 && n <= maxShared {
			v.SetString(shared(v.String()))
		}
	}
}

// shareInSlice also gives back the room that decoding has left for more elements.
func shareInSlice(v reflect.Value) {
	if v.Cap() > v.Len() {
		exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(exact, v)
		v.Set(exact)
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return
	}
	for i := range v.Len() {
		shareBelow(v.Index(i))
	}
}

// shareInMap replaces keys and values, which have to be put in anew.
func shareInMap(v reflect.Value) {
	if v.Len() == 0 || v.Type().Key().Kind() != reflect.String {
		return
	}
	anew := reflect.MakeMapWithSize(v.Type(), v.Len())
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	for each := v.MapRange(); each.Next(); {
		key.SetIterKey(each)
		value.SetIterValue(each)
		shareBelow(key)
		shareBelow(value)
		anew.SetMapIndex(key, value)
	}
	v.Set(anew)
}

func shareRequests(r *corev1.ResourceRequirements) {
	if len(r.Requests) > 0 && equality.Semantic.DeepEqual(r.Requests, r.Limits) {
		r.Limits = r.Requests
	}
}

// shared is the one of all equal strings that is kept while any of them is.
func shared(s string) string { return unique.Make(s).Value() }

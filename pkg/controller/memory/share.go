package memory

import (
	"encoding/json"
	"reflect"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/lru"
)

// maxShared is the longest string that is shared, in bytes. Names and reasons are shorter; programs and
// their arguments seldom equal those of another job.
const maxShared = 64

var requirements = reflect.TypeFor[corev1.ResourceRequirements]()

// Share replaces equal parts of objects by the same memory, before an object is cached: strings such as the
// kinds of owners, names of labels and texts of conditions; small maps such as amounts of resources; and
// limits that equal the requests. Decoding creates new ones for every object. Cached objects are never
// changed: a watch that begins with a list passes each object twice, and the second time other goroutines
// already read the shared parts.
func Share(object any) { shareBelow(reflect.ValueOf(object)) }

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

// shareInSlice also frees the capacity that decoding left for more elements.
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

// shareInMap replaces the map by an equal one that is shared, or else its keys and values.
func shareInMap(v reflect.Value) {
	if v.Len() == 0 || v.Type().Key().Kind() != reflect.String {
		return
	}
	text, err := json.Marshal(v.Interface())
	common, content := err == nil && len(text) <= maxCommonJSON, mapKey{v.Type(), string(text)}
	if had, ok := commonMaps.Get(content); common && ok {
		v.Set(had.(reflect.Value))
		return
	}
	replaced := reflect.MakeMapWithSize(v.Type(), v.Len())
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	for each := v.MapRange(); each.Next(); {
		key.SetIterKey(each)
		value.SetIterValue(each)
		shareBelow(key)
		shareBelow(value)
		replaced.SetMapIndex(key, value)
	}
	if common {
		commonMaps.Add(content, replaced)
	}
	v.Set(replaced)
}

const (
	// maxCommon is how many maps are remembered: more than the kinds of requests, counts of ranks and
	// labels that the jobs of a cluster come in, and little memory where every one is different.
	maxCommon = 1024
	// maxCommonJSON is the longest map that is compared with those, in bytes of its JSON.
	maxCommonJSON = 256
)

// commonMaps are the maps of recent objects, by content. A map of Go has space for eight entries, which for
// amounts of resources is 640 bytes. Most have one or two, and ten thousand jobs use the same few maps.
var commonMaps = lru.New(maxCommon)

type mapKey struct {
	kind reflect.Type
	json string
}

func shareRequests(r *corev1.ResourceRequirements) {
	if len(r.Requests) > 0 && equality.Semantic.DeepEqual(r.Requests, r.Limits) {
		r.Limits = r.Requests
	}
}

// shared returns the one copy of a string that all equal strings use.
func shared(s string) string { return unique.Make(s).Value() }

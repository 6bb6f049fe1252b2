package live

import (
	"reflect"
	"time"
)

// sizeOf returns about how much memory a value refers to, in bytes: its texts, lists, maps and the structures
// behind its pointers. What several pointers share counts several times.
func sizeOf(v reflect.Value) int {
	size := 0
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			size = int(v.Elem().Type().Size()) + sizeOf(v.Elem())
		}
	case reflect.Slice:
		size = v.Cap() * int(v.Type().Elem().Size())
		for n := range v.Len() {
			size += sizeOf(v.Index(n))
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			size += int(v.Type().Key().Size()+v.Type().Elem().Size()) + sizeOf(entries.Key()) + sizeOf(entries.Value())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() { // all times share their locations
			return 0
		}
		for n := range v.NumField() {
			size += sizeOf(v.Field(n))
		}
	}
	return size
}

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// bounds limit the lists, maps and texts that their schemas leave unlimited, by the end of the path: of the
// names that fit, the longest counts. Every table has a default. Without limits the operator's memory is the
// user's: Go structures of a list's empty elements take many times their JSON.
type bounds struct {
	// Items of a list.
	Items map[string]int64 `json:"items"`
	// Properties of a map.
	Properties map[string]int64 `json:"properties"`
	// Lengths of a text, in characters.
	Lengths map[string]int64 `json:"lengths"`
}

const defaultBound = "default"

// addTo limits everything below a schema. A name that bounds nothing is an error: it is misspelt, or its
// field is gone.
func (b bounds) addTo(s schema) error {
	used := map[string]bool{}
	for keyword, table := range b.tables() {
		if table[defaultBound] < 1 {
			return fmt.Errorf("bounds for %s have no default", keyword)
		}
		used[keyword+" "+defaultBound] = true
	}
	b.below(s, "spec", used)
	for keyword, table := range b.tables() {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if !used[keyword+" "+name] {
				return fmt.Errorf("the bound %s of %s is of no field", keyword, name)
			}
		}
	}
	return nil
}

// tables by the keyword of the schema that they set.
func (b bounds) tables() map[string]map[string]int64 {
	return map[string]map[string]int64{
		"maxItems": b.Items, "maxProperties": b.Properties, "maxLength": b.Lengths,
	}
}

// below limits the schema at a path, and everything in it.
func (b bounds) below(s schema, path string, used map[string]bool) {
	limit := func(keyword string, table map[string]int64) {
		if _, limited := s[keyword]; limited {
			return
		}
		name := defaultBound
		for end := range table {
			if strings.HasSuffix(path, "."+end) && (name == defaultBound || len(end) > len(name)) {
				name = end
			}
		}
		used[keyword+" "+name] = true
		s[keyword] = table[name]
	}
	elements, isMap := s["additionalProperties"].(map[string]any)
	switch {
	case s["type"] == "array":
		limit("maxItems", b.Items)
	case isMap:
		limit("maxProperties", b.Properties)
	case s["type"] == "string" && s["enum"] == nil:
		limit("maxLength", b.Lengths)
	}
	if isMap {
		b.below(elements, path+".*", used)
	}
	if items, ok := s["items"].(map[string]any); ok {
		b.below(items, path+"[]", used)
	}
	properties, _ := s["properties"].(map[string]any)
	for field, child := range properties {
		if child, ok := child.(map[string]any); ok {
			b.below(child, path+"."+field, used)
		}
	}
}

// docs is the section of the API's reference that lists the bounds.
func (b bounds) docs() string {
	var text strings.Builder
	fmt.Fprint(&text, "\n## Bounds\n\nMaximums below `spec`, unless the field has its own.\n\n")
	for _, t := range []struct {
		keyword, other string
		table          map[string]int64
	}{
		{"maxItems", "other lists", b.Items}, {"maxProperties", "other maps", b.Properties},
		{"maxLength", "other strings", b.Lengths},
	} {
		fields := map[int64][]string{}
		for _, name := range slices.Sorted(maps.Keys(t.table)) {
			if name != defaultBound {
				fields[t.table[name]] = append(fields[t.table[name]], name)
			}
		}
		for _, most := range slices.Sorted(maps.Keys(fields)) {
			fmt.Fprintf(&text, "- %s %d: %s\n", t.keyword, most, codes("", fields[most]))
		}
		fmt.Fprintf(&text, "- %s %d: %s\n", t.keyword, t.table[defaultBound], t.other)
	}
	return text.String()
}

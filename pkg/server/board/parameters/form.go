package parameters

import "slices"

// maxSuggestions of a field of a form.
const maxSuggestions = 200

// Suggestions returns at most 200 of the values, sorted, each once, without the empty one.
func Suggestions(values []string) []string {
	slices.Sort(values)
	values = slices.DeleteFunc(slices.Compact(values), func(s string) bool { return s == "" })
	return values[:min(len(values), maxSuggestions)]
}

// Choice is a checkbox of a form.
type Choice struct {
	Value, Name string
	Checked     bool
}

// Choices returns one checkbox for each known value. Name is the value.
func Choices[T ~string](known, chosen []T) []Choice {
	all := make([]Choice, 0, len(known))
	for _, v := range known {
		all = append(all, Choice{string(v), string(v), slices.Contains(chosen, v)})
	}
	return all
}

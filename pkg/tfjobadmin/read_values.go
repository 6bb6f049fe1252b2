package tfjobadmin

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	shellquote "github.com/kballard/go-shellquote"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// words are a list of texts, or one text that is split as a shell splits words, without any expansion.
func (r *reader) words(value any, path *field.Path) *[]string {
	switch value := value.(type) {
	case string:
		words, err := shellquote.Split(value)
		if err != nil {
			r.problems.add(path, lower(err), "close the quotes, or give a list of texts")
			return nil
		}
		return r.printable(words, path)
	case []any:
		words := make([]string, 0, len(value))
		for i, element := range value {
			word, is := scalar(element)
			if !is {
				r.problems.add(path.Index(i), "is "+kindOf(element), "give a text")
				return nil
			}
			words = append(words, word)
		}
		return r.printable(words, path)
	}
	r.problems.add(path, "is "+kindOf(value), "give a list of texts, or one text")
	return nil
}

func (r *reader) printable(words []string, path *field.Path) *[]string {
	for _, word := range words {
		if strings.ContainsRune(word, 0) {
			r.problems.add(path, "has a NUL character", "give texts without it")
			return nil
		}
	}
	return &words
}

// environment is an object of names and values, or one text of NAME=value, split as words are.
func (r *reader) environment(value any, path *field.Path) *Environment {
	environment := Environment{}
	switch value := value.(type) {
	case string:
		words := r.words(value, path)
		if words == nil {
			return nil
		}
		for _, pair := range *words {
			name, text, is := strings.Cut(pair, "=")
			if _, twice := environment[name]; !is || twice {
				r.problems.add(path, fmt.Sprintf("%q is no NAME=value, or its name is given twice", pair),
					"write NAME=value once for each variable, parted by spaces")
				return nil
			}
			environment[name] = text
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			text, is := scalar(value[name])
			if !is || strings.ContainsRune(text, 0) {
				r.problems.add(path.Child(name), "is "+kindOf(value[name]), "give a text without NUL characters")
				return nil
			}
			environment[name] = text
		}
	default:
		r.problems.add(path, "is "+kindOf(value), "give a text of NAME=value, or an object")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		if errs := validation.IsEnvVarName(name); len(errs) > 0 {
			r.problems.add(path, fmt.Sprintf("%q is no name of a variable", name), strings.Join(errs, "; "))
			return nil
		}
	}
	return &environment
}

// scalar is the text of a text, a number or a boolean.
func scalar(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case int64:
		return strconv.FormatInt(value, 10), true
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), true
	}
	return "", false
}

// whole is a whole number from 0 to most, or its text.
func (r *reader) whole(o object, most int64, spellings ...string) *int64 {
	value, path, has := r.take(o, spellings...)
	if !has {
		return nil
	}
	text, _ := scalar(value)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		r.problems.add(path, fmt.Sprintf("%s is no whole number from 0 to %d", quoted(value), most),
			"give one, as a number or as a text")
		return nil
	}
	return &n
}

// Limits of one rank. What is beyond them is a mistake.
var (
	mostCPU    = resource.MustParse("1000000")
	mostMemory = resource.MustParse("1Ei")
)

const mostGPUs = 1 << 20

// quantityText bounds what resource.ParseQuantity is given: it takes seconds for 1e10000000.
var quantityText = regexp.MustCompile(
	`^[+-]?[0-9]{1,19}([.][0-9]{0,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][0-9]{1,2})?$`)

// quantity is a Kubernetes quantity: a number, or a text such as 2048Mi. It must be a multiple of what scale
// means, so that it can be written again as it was.
func (r *reader) quantity(
	o object, name string, scale resource.Scale, most resource.Quantity, unit string,
) *resource.Quantity {
	value, path, has := r.take(o, name)
	if !has {
		return nil
	}
	text, _ := scalar(value)
	var q resource.Quantity
	err := errors.New("is no quantity")
	if quantityText.MatchString(text) {
		q, err = resource.ParseQuantity(text)
	}
	if err != nil || q.Sign() < 0 || q.Cmp(most) > 0 {
		r.problems.add(path, fmt.Sprintf("%s is no quantity from 0 to %s", quoted(value), most.String()),
			"give "+unit)
		return nil
	}
	rounded := q.DeepCopy()
	if !rounded.RoundUp(scale) {
		r.problems.add(path, quoted(value)+" is too fine", "give "+unit)
		return nil
	}
	return &q
}

func quoted(value any) string {
	if text, is := scalar(value); is {
		return strconv.Quote(text)
	}
	return kindOf(value)
}

// lower begins a library's sentence as a clause.
func lower(err error) string {
	text := err.Error()
	return strings.ToLower(text[:1]) + text[1:]
}

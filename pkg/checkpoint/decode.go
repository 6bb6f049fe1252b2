package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
)

// parse reads one JSON object strictly. encoding/json alone accepts names in any case, duplicate names (the
// last wins) and null for everything; each of these hides a mistake of the writer.
func parse[T any](message string, limit int, data []byte) (*T, error) {
	if len(data) > limit {
		return nil, &FormatError{message, "", fmt.Sprintf("has more than %d bytes", limit), "write less into it"}
	}
	if !utf8.Valid(data) {
		return nil, &FormatError{message, "", "is not UTF-8", "write it as UTF-8"}
	}
	w := &walker{message: message, dec: json.NewDecoder(bytes.NewReader(data))}
	w.dec.UseNumber()
	var into T
	if err := w.value(reflect.TypeFor[T](), rule{}, ""); err != nil {
		return nil, err
	}
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, w.wrong("", "continues after its end", "write one JSON object")
	}
	if err := json.Unmarshal(data, &into); err != nil {
		return nil, w.wrong("", "cannot be read ("+err.Error()+")", "see docs/checkpoints.md")
	}
	return &into, nil
}

// Encode writes a message. It applies the same checks as the message's parser.
func Encode(message any) ([]byte, error) {
	data, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	w := &walker{message: "message to be written", dec: json.NewDecoder(bytes.NewReader(data))}
	w.dec.UseNumber()
	if err := w.value(reflect.Indirect(reflect.ValueOf(message)).Type(), rule{}, ""); err != nil {
		return nil, err
	}
	return data, nil
}

// walker checks a message token by token against the rules of its type.
type walker struct {
	message string
	dec     *json.Decoder
}

func (w *walker) wrong(field, problem, remedy string) error {
	return &FormatError{w.message, field, problem, remedy}
}

func (w *walker) token(path string) (json.Token, error) {
	tok, err := w.dec.Token()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, w.wrong(path, "ends too early",
			"write a temporary file and rename it, so that the agent never reads half of it")
	case err != nil:
		return nil, w.wrong(path, "is not JSON ("+err.Error()+")",
			"write JSON; NaN and Infinity go as strings, in metrics alone")
	case tok == nil:
		return nil, w.wrong(path, "is null", "leave the field out")
	}
	return tok, nil
}

// value checks the next value against type t and rule r.
func (w *walker) value(t reflect.Type, r rule, path string) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tok, err := w.token(path)
	if err != nil {
		return err
	}
	var problem, remedy string
	switch {
	case t == timeType:
		problem, remedy = checkTimeToken(tok)
	case t == metricType:
		problem, remedy = checkMetricToken(tok)
	case t.Kind() == reflect.Struct:
		return w.object(t, tok, path)
	case t.Kind() == reflect.Map:
		return w.names(t, tok, r, path)
	case t.Kind() == reflect.Slice:
		return w.list(t, tok, r, path)
	case t.Kind() == reflect.String:
		if s, ok := tok.(string); ok {
			problem, remedy = r.checkText(s)
		} else {
			problem, remedy = notA("string", tok)
		}
	case t.Kind() == reflect.Bool:
		if _, ok := tok.(bool); !ok {
			problem, remedy = notA("boolean", tok)
		}
	default:
		problem, remedy = checkNumberToken(tok, r, t.Kind() != reflect.Float64)
	}
	if problem != "" {
		return w.wrong(path, problem, remedy)
	}
	return nil
}

func (w *walker) object(t reflect.Type, tok json.Token, path string) error {
	if tok != json.Delim('{') {
		return w.wrong(path, "is no object", "write {...}")
	}
	fields, seen := fieldsOf[t], map[string]bool{}
	for w.dec.More() {
		tok, err := w.token(path)
		if err != nil {
			return err
		}
		name, at := tok.(string), join(path, tok.(string))
		if seen[name] {
			return w.wrong(at, "is there twice", "give it once")
		}
		seen[name] = true
		known := false
		for _, f := range fields {
			if f.name == name {
				known = true
				if err := w.value(f.typ, f.rule, at); err != nil {
					return err
				}
			}
		}
		if !known {
			return w.wrong(at, "is unknown", "use one of "+namesOf(fields))
		}
	}
	for _, f := range fields {
		if f.rule.required && !seen[f.name] {
			return w.wrong(join(path, f.name), "is missing", "it is required")
		}
	}
	_, err := w.token(path)
	return err
}

func (w *walker) names(t reflect.Type, tok json.Token, r rule, path string) error {
	if tok != json.Delim('{') {
		return w.wrong(path, "is no object", "write {...}")
	}
	seen := map[string]bool{}
	for w.dec.More() {
		tok, err := w.token(path)
		if err != nil {
			return err
		}
		name := tok.(string)
		at := join(path, name)
		switch {
		case !patterns[r.keys].MatchString(name):
			return w.wrong(at, "has a name that is not allowed", remedies[r.keys])
		case seen[name]:
			return w.wrong(at, "is there twice", "give it once")
		case len(seen) == r.maxItems:
			return w.wrong(path, "has too many entries", fmt.Sprintf("at most %d are allowed", r.maxItems))
		}
		seen[name] = true
		if err := w.value(t.Elem(), rule{}, at); err != nil {
			return err
		}
	}
	_, err := w.token(path)
	return err
}

func (w *walker) list(t reflect.Type, tok json.Token, r rule, path string) error {
	if tok != json.Delim('[') {
		return w.wrong(path, "is no list", "write [...]")
	}
	n := 0
	for ; w.dec.More(); n++ {
		if n == r.maxItems {
			return w.wrong(path, "has too many entries", fmt.Sprintf("at most %d are allowed", r.maxItems))
		}
		if err := w.value(t.Elem(), rule{}, path+"["+strconv.Itoa(n)+"]"); err != nil {
			return err
		}
	}
	if n < r.minItems {
		return w.wrong(path, fmt.Sprintf("has %d entries", n), fmt.Sprintf("at least %d is needed", r.minItems))
	}
	_, err := w.token(path)
	return err
}

func checkTimeToken(tok json.Token) (problem, remedy string) {
	const how = `write it as "2026-11-21T09:30:00Z"`
	s, ok := tok.(string)
	if !ok {
		return "is no string", how
	}
	at, err := time.Parse(time.RFC3339, s)
	switch {
	case err != nil:
		return fmt.Sprintf("is %.40q", s), how
	case at.Before(earliestTime) || at.After(latestTime):
		return fmt.Sprintf("is %.40q", s), "give a time between the years 2000 and 2199"
	}
	return "", ""
}

func checkMetricToken(tok json.Token) (problem, remedy string) {
	var text string
	switch v := tok.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	}
	if !isMetric(text) {
		return fmt.Sprintf("is %.40q", fmt.Sprint(tok)),
			fmt.Sprintf("give a number, or a string of at most %d characters that holds one", maxMetricLen)
	}
	return "", ""
}

func checkNumberToken(tok json.Token, r rule, whole bool) (problem, remedy string) {
	n, ok := tok.(json.Number)
	if !ok {
		return notA("number", tok)
	}
	if whole {
		i, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil {
			return "is " + shorten(n.String(), 40), "give a whole number up to " +
				strconv.FormatFloat(r.max, 'f', -1, 64) + ", without a point or an exponent"
		}
		if i > int64(r.max) { // compared as integers, since a float64 would round i down to the bound
			return "is " + n.String(), "give a whole number up to " + strconv.FormatInt(int64(r.max), 10)
		}
		return r.checkNumber(float64(i), true)
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return "is " + shorten(n.String(), 40), "give a smaller number"
	}
	return r.checkNumber(f, false)
}

func notA(kind string, tok json.Token) (problem, remedy string) {
	return fmt.Sprintf("is %.40q, no %s", fmt.Sprint(tok), kind), "give a " + kind
}

func join(path, name string) string {
	name = shorten(name, 64)
	if path == "" {
		return name
	}
	return path + "." + name
}

func namesOf(fields []field) string {
	var b []byte
	for i, f := range fields {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, f.name...)
	}
	return string(b)
}

package v1alpha1

import (
	"bytes"
	"encoding/json"
)

// HyperparameterValue is a text, a number or a boolean, as its JSON: `"adam"`, `0.001`, `true`. What the API
// server stores may be anything, since no schema can say "one of the three": Scalar tells. What is no JSON is
// taken for a text.
type HyperparameterValue string

// TextHyperparameter is the value of a text.
func TextHyperparameter(text string) HyperparameterValue {
	data, err := json.Marshal(text)
	if err != nil { // a string can always be encoded
		panic(err)
	}
	return HyperparameterValue(data)
}

// UnmarshalJSON takes whatever stands there. It never fails: one job that cannot be decoded would keep the
// operator from listing all others.
func (v *HyperparameterValue) UnmarshalJSON(data []byte) error {
	var text string
	if len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &text) == nil {
		*v = TextHyperparameter(text) // in one spelling, since hashes are made of it
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		compact.Reset()
		compact.Write(data)
	}
	*v = HyperparameterValue(compact.String())
	return nil
}

// MarshalJSON returns the value as it stands in the spec.
func (v HyperparameterValue) MarshalJSON() ([]byte, error) {
	if json.Valid([]byte(v)) {
		return []byte(v), nil
	}
	return json.Marshal(string(v))
}

// Scalar returns a text as it is, or a number or a boolean as it is written; false for null, a list or an
// object.
func (v HyperparameterValue) Scalar() (string, bool) {
	switch {
	case v == "", !json.Valid([]byte(v)):
		return string(v), true
	case v == "null", v[0] == '[', v[0] == '{':
		return "", false
	case v[0] == '"':
		var text string
		if err := json.Unmarshal([]byte(v), &text); err != nil {
			return "", false
		}
		return text, true
	}
	return string(v), true
}

package v1alpha1

import (
	"bytes"
	"encoding/json"
)

// HyperparameterValue is a JSON string, number or boolean: `"adam"`, `0.001`, `true`. The operator rejects
// other values.
type HyperparameterValue string

// TextHyperparameter returns the value for a string.
func TextHyperparameter(text string) HyperparameterValue {
	data, err := json.Marshal(text)
	if err != nil { // a string can always be encoded
		panic(err)
	}
	return HyperparameterValue(data)
}

// UnmarshalJSON accepts any value. It never fails, since one job that cannot be decoded would prevent the
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

// MarshalJSON returns the value as in the spec.
func (v HyperparameterValue) MarshalJSON() ([]byte, error) {
	if json.Valid([]byte(v)) {
		return []byte(v), nil
	}
	return json.Marshal(string(v))
}

// Scalar returns a string decoded, or a number or a boolean as written. It returns false for null, a list or
// an object.
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

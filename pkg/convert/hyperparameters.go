package convert

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// hyperparameters flattens those of a document: names of nested ones are joined with a dot, unless they stand
// in the object that is called flat. Lists are JSON.
func (c *conversion) hyperparameters(
	from map[string]any, flat string, path *field.Path,
) map[string]v1alpha1.HyperparameterValue {
	if len(from) == 0 {
		return nil
	}
	to := map[string]v1alpha1.HyperparameterValue{}
	var add func(prefix string, values map[string]any, at *field.Path)
	add = func(prefix string, values map[string]any, at *field.Path) {
		for _, key := range sortedKeys(values) {
			name, here := prefix+key, at.Child(key)
			switch value := values[key].(type) {
			case map[string]any:
				if key == flat && prefix == "" {
					add("", value, here)
				} else {
					add(name+".", value, here)
				}
				continue
			case nil:
				c.warn(here, "null "+noCounterpart)
				continue
			case []any:
				text, err := json.Marshal(value)
				if err != nil {
					c.fail(here, "%v", err)
					continue
				}
				to[name] = hyperparameter(string(text))
			default:
				if _, twice := to[name]; twice {
					c.fail(here, "the hyperparameter %s is given twice", name)
				}
				to[name] = hyperparameter(value)
			}
		}
	}
	add("", from, path)
	return to
}

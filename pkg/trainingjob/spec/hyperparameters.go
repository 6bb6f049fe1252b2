package spec

import "strings"

// HyperparameterPrefix begins the variables of all hyperparameters.
const HyperparameterPrefix = "HYPERPARAM_"

// HyperparameterEnv returns the environment variable of a hyperparameter: upper case, with '_' for every
// other character.
func HyperparameterEnv(name string) string {
	return HyperparameterPrefix + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// withEnv puts the operator's variables first, since the user's can refer to them as $(RANK). The user's
// value of a variable takes precedence.
func withEnv(own, operators []corev1.EnvVar) []corev1.EnvVar {
	set := make(map[string]struct{}, len(own))
	for _, e := range own {
		set[e.Name] = struct{}{}
	}
	var env []corev1.EnvVar
	for _, e := range operators {
		if _, is := set[e.Name]; !is {
			env = append(env, e)
		}
	}
	return append(env, own...)
}

// literal keeps the kubelet from replacing $(NAME) in a value.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

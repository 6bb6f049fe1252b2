package config

import "mlplatform.example.com/trainingjob-operator/pkg/framework"

// AnnotationUser names the user whom a job is for, where userKeys is not configured.
const AnnotationUser = "mlplatform.example.com/user"

// Default is the configuration of a server without a file: that of a server on one's own machine, which
// nobody else reaches.
func Default() ServerConfiguration {
	return ServerConfiguration{
		APIVersion:    APIVersion,
		Kind:          Kind,
		Listen:        Listen{BindAddress: "localhost:8080"},
		Currency:      "EUR",
		GPUs:          framework.DefaultGPUs(),
		GPUKindLabels: []string{"nvidia.com/gpu.product"},
		UserKeys:      []string{AnnotationUser},
		Metrics:       Metrics{BindAddress: ":8444", Secure: true},
		Health:        Health{BindAddress: ":8081"},
	}
}

package config

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/mlflow"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/session"
	"mlplatform.example.com/trainingjob-operator/pkg/server/shield"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
)

// Default returns the configuration without a file: a server that only its own machine can reach.
func Default() ServerConfiguration {
	return ServerConfiguration{
		APIVersion:    APIVersion,
		Kind:          Kind,
		Listen:        Listen{BindAddress: "localhost:8080"},
		Currency:      "EUR",
		GPUs:          framework.DefaultGPUs(),
		GPUKindLabels: []string{"nvidia.com/gpu.product"},
		UserKeys:      []string{v1alpha1.AnnotationUser},
		Identity:      identity.Default(),
		Board:         Board{session.Default(), placement.DefaultTopologyLabels()},
		Access:        access.Default(),
		Limits:        shield.Default(),
		TFJob:         tfjob.Default(),
		MLflow:        mlflow.DefaultConfig(),
		Metrics:       Metrics{BindAddress: ":8444", Secure: true},
		Health:        Health{BindAddress: ":8081"},
	}
}

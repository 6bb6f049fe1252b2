// Package framework answers one question: what do the ranks of a gang need in order to find each other with
// the framework that spec.framework names? All that differs between frameworks is data in this package:
//
//	what every container of a rank gets     Framework.Setup, for the pods of pkg/trainingjob
//	the trainer, its port and its GPUs      Framework.Trainer and .DescribeRole, for the same pods
//	the roles of a job                      Framework.KnowsRole, for validation and for the CRD
//	the values of spec.framework            All, for validation, the CRD and docs/api.md
//
// A new framework takes one file, whose function returns the Framework, one line in registry.go, and one
// golden file. Run `go test ./pkg/framework -update`, read the golden file, and run `make generate`.
//
// The package is pure: it knows neither client, context nor clock, nor the type TrainingJob. Results depend
// on the arguments alone and have a fixed order.
package framework

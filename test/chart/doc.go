// Package chart renders the Helm chart with helm itself, and asks without a cluster: is it what kustomize
// installs, does its schema accept just what the operator accepts, and would an API server know all of it?
//
// What differs from kustomize is listed in differences_test.go, each with its reason; a difference that no
// longer occurs fails the test too. install_test.go in test/install shows the rest on a node.
package chart

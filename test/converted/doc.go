// Package converted runs what pkg/convert makes of other systems' documents, unchanged, on a local cluster:
// each job must be placed by the scheduler that it names, run whole, and succeed.
package converted

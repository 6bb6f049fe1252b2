// Package write carries out plans: Objects writes everything that a job owns, Statuses the job's status with
// its events. Both record what the API server returns in package memory.
package write

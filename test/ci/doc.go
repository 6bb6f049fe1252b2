// Command ci runs tiers of tests:
//
//	go run ./test/ci test          the tests of every landing (make test)
//	go run ./test/ci part NAME     one part of the others (make test-part PART=NAME)
//	go run ./test/ci all           the tests of every landing, then every part (make test-all)
//	go run ./test/ci landing       the parts that .ci/run has time for
//
// The file test/tiers.yaml says which tests each tier and each part runs. TestEveryTestIsRun fails if a test
// with the build tag cluster or e2e is in none of them.
//
// The command landing always runs the part whose last success on this machine is the oldest, so that as many
// landings as there are parts run everything. While the time budget lasts it then runs the parts whose paths
// the landing touched, and then the others. It records each success in the cache folder of the lab. On a
// machine without a record the commit decides which part runs first.
package main

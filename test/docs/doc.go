// Package docs answers one question: does what README.md, docs/ and examples/ tell people to type work, and
// does it print what they show?
//
// A page's fenced code blocks are of three kinds:
//
//	console   a session: lines that begin with "$ " are commands, the lines below each are its output
//	sh        commands; so is a block without a language whose first word is the name of a program
//	others    text, and files: a block whose first line is "# <name>.yaml" is written down as this file
//
// A session (sessions_test.go) plays the blocks of a page, or of one section of it, in their order, against a
// real control plane with the real operator. A command that only reads is repeated until it prints what the
// page shows; every other command runs once. Ages, times, steps and names that are made up differ from run to
// run and are not compared, nor is where lines break; "..." stands for anything. With -update the pages get
// what was printed in the place of what does not match.
//
// What a page cannot show, because it is the situation that its reader is in, is a script under testdata that
// runs before a section (testdata/<page>/<heading>.sh), after it (<heading>.end.sh), before the page
// (_setup.sh) or after it (_end.sh). In testdata/statuses are jobs in every phase, as an API server has
// stored them.
//
// TestEveryCommandIsRun needs no cluster: each command is in a session, or run by a test that is named, or
// one of at most ten exceptions, each with its reason.
package docs

// Package demo tests what a user sees who runs the demo and opens its link.
// The tests run the demo with localcluster on every scheduler. A browser opens the link that it prints and
// loads three pages of the board once. The pages must show the story, and at the end the figures of the API.
// With -pictures the tests take the pictures of README.md.
package demo

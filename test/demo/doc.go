// Package demo answers one question: what does somebody see who plays the demo and opens its link?
//
// The demo is played as a user does it, by bin/localcluster, on every scheduler. A browser opens the link
// that it prints, and looks at three pages of the board that are loaded once: they must tell the story, and
// in the end show the figures that the API has. With -pictures it takes the pictures of README.md.
package demo

// Package chart draws the plots of reports, as PNG and SVG: the same figure gives the same bytes.
//
//	figure.go  panels under a title, with a legend, in one font
//	axis.go    where an axis has its ticks
//	colors.go  colors that people with any common kind of color blindness tell apart
package chart

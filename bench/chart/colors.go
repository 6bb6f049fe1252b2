package chart

import "image/color"

// Distinct colors can be distinguished with any common kind of color blindness: Paul Tol's "muted" scheme
// (Technical Note SRON/EPS/TN/09-002), with black as the tenth, ordered so that neighbors differ.
var Distinct = []color.Color{
	RGB(0x332288), RGB(0xCC6677), RGB(0x117733), RGB(0x88CCEE), RGB(0xAA4499),
	RGB(0x999933), RGB(0x000000), RGB(0x44AA99), RGB(0x882255), RGB(0xDDCC77),
}

// Parts are the colors of what something is made of: Okabe and Ito's, with grey for the rest.
var Parts = []color.Color{
	RGB(0x0072B2), RGB(0xE69F00), RGB(0x009E73), RGB(0xCC79A7), RGB(0x56B4E9), RGB(0xD55E00), RGB(0xF0E442),
}

// Colors of what has one meaning in all plots.
var (
	Other     = RGB(0xBBBBBB)
	Held      = RGB(0xF2A900)
	White     = RGB(0xFFFFFF)
	GridColor = RGB(0xE5E5E5)
	Ink       = RGB(0x222222)
	noteColor = RGB(0x555555)
)

// RGB is the color 0xRRGGBB.
func RGB(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF} //nolint:gosec // cut
}

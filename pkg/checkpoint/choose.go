package checkpoint

// Point is where a gang resumes.
type Point struct {
	Path string
	Step int64
	// Attempt that wrote it; with the step it orders points.
	Attempt int32
}

// Choice of a resume point.
type Choice struct {
	// Point to resume from; nil: none, start anew.
	Point *Point
	// Found is what the point was chosen from, when it was chosen now.
	Found *Found
	// PassedOver are newer than the point, and not complete. Newest first.
	PassedOver []Found
	// Lost: the pinned point is gone or torn, and nothing as new is there. Point then is the newest complete one, which goes
	// back: whoever asked decides whether that is better than to stop.
	Lost bool
}

// Choose takes the newest complete checkpoint: by step, then by attempt, since a later attempt that reached the same step again did
// so on files that still have their writer. It never goes behind pinned, except as Lost says. No time is looked at.
func Choose(found []Found, pinned *Point) Choice {
	var c Choice
	for i := range found {
		f := &found[i]
		if f.State != Complete {
			continue
		}
		if c.Found == nil || newestFirst(*f, *c.Found) < 0 {
			c.Found = f
		}
	}
	for _, f := range found {
		if f.State != Complete && !f.WrongJob && (c.Found == nil || f.Step > c.Found.Step) {
			c.PassedOver = append(c.PassedOver, f)
		}
	}
	if c.Found != nil {
		c.Point = &Point{Path: c.Found.Path, Step: c.Found.Step, Attempt: c.Found.Attempt}
	}
	c.Lost = pinned != nil && (c.Point == nil || c.Point.Step < pinned.Step)
	return c
}

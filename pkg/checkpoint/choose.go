package checkpoint

// Point is a resume point: the checkpoint from which a gang resumes.
type Point struct {
	Path string
	Step int64
	// Attempt that wrote it. It orders points of the same step.
	Attempt int32
}

// Choice is the result of choosing a resume point.
type Choice struct {
	// Point to resume from; nil means a fresh start.
	Point *Point
	// Found is the checkpoint that Point describes.
	Found *Found
	// PassedOver are the incomplete checkpoints newer than Point, in the order of the scan: newest first.
	PassedOver []Found
	// Lost: the pinned point is gone or torn, and no complete checkpoint is as new. Point is then an older
	// one, and the caller decides whether resuming from it is better than stopping.
	Lost bool
}

// Choose takes the newest complete checkpoint, by step, then by attempt: of two attempts that reached the
// same step, the files of the later one are the ones whose writer may still be alive. If the result is older
// than pinned, it is Lost.
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

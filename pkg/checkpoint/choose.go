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
//
// Where none is complete it takes, of those that only lack a step, the one that the latest attempt committed
// last. Its Point has step 0. The agent does not report it as committed: it lists it as passed over.
func Choose(found []Found, pinned *Point) Choice {
	var c Choice
	if c.Found = newest(found, func(f *Found) bool { return f.State == Complete }); c.Found == nil {
		c.Found = newest(found, func(f *Found) bool { return f.Unordered })
	}
	for _, f := range found {
		if f.State != Complete && !f.WrongJob && (c.Found == nil || isNewer(f, *c.Found)) {
			c.PassedOver = append(c.PassedOver, f)
		}
	}
	if c.Found != nil {
		c.Point = &Point{Path: c.Found.Path, Step: max(c.Found.Step, 0), Attempt: c.Found.Attempt}
	}
	c.Lost = pinned != nil && (c.Point == nil || c.Point.Step < pinned.Step)
	return c
}

func newest(found []Found, eligible func(*Found) bool) *Found {
	var best *Found
	for i := range found {
		if f := &found[i]; eligible(f) && (best == nil || Newer(*f, *best)) {
			best = f
		}
	}
	return best
}

// isNewer reports whether a checkpoint that is not complete is newer than the chosen one: by step, or where
// it has none by the time of its commit.
func isNewer(f, chosen Found) bool {
	if f.Unordered {
		return f.Path != chosen.Path && f.CommittedAt.After(chosen.CommittedAt)
	}
	return f.Step > chosen.Step
}

package scheduler

// NotServed is the error of Backend.Objects for a gang whose requirement the scheduler cannot keep as the
// cluster configures it. The gang waits until an admin changes that, which the operator observes.
type NotServed struct{ Explanation }

func (e *NotServed) Error() string { return e.Message }

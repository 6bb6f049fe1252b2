package checkpoint

// FormatError says what is wrong with a message or a URI and what to change.
type FormatError struct {
	// Message is its kind. Field is the offending field's path; empty means the whole message.
	Message, Field string
	// Problem and Remedy complete the sentence "<message>: <field> <problem>: <remedy>".
	Problem, Remedy string
}

func (e *FormatError) Error() string {
	where := e.Message
	if e.Field != "" {
		where += ": " + e.Field
	}
	return where + " " + e.Problem + ": " + e.Remedy
}

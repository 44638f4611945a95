package command

// SingleValue is a flag that may be set once: a second value would silently replace the first.
type SingleValue struct {
	Flag  string
	Value *string
	set   bool
}

// String returns the value.
func (s *SingleValue) String() string { return *s.Value }

// Type returns the word for the value in the help.
func (s *SingleValue) Type() string { return "name" }

// Set sets the value; a second, different one is an error.
func (s *SingleValue) Set(value string) error {
	switch {
	case s.set && value != *s.Value: // completion sets the same one again
		return Usagef("run the command once for each", "%s is given twice", s.Flag)
	case value == "":
		return Usagef("leave the flag out, or name one", "%s has no name", s.Flag)
	}
	*s.Value, s.set = value, true
	return nil
}

package command

// Single is a flag that may be set once: a second value would silently replace the first.
type Single struct {
	Flag  string
	Value *string
	set   bool
}

// String returns the value.
func (s *Single) String() string { return *s.Value }

// Type returns the word for the value in the help.
func (s *Single) Type() string { return "name" }

// Set sets the value; a second, different one is an error.
func (s *Single) Set(value string) error {
	switch {
	case s.set && value != *s.Value: // completion sets the same one again
		return Usagef("run the command once for each", "%s is given twice", s.Flag)
	case value == "":
		return Usagef("leave the flag out, or name one", "%s has no name", s.Flag)
	}
	*s.Value, s.set = value, true
	return nil
}

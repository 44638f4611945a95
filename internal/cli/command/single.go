package command

// Single is a flag that may be given once: of two environments, one would be
// forgotten in silence.
type Single struct {
	Flag  string
	Value *string
	set   bool
}

// String gives the value; it is part of pflag.Value, as are the others.
func (s *Single) String() string { return *s.Value }

// Type names what the flag takes.
func (s *Single) Type() string { return "name" }

// Set takes the first value.
func (s *Single) Set(value string) error {
	switch {
	case s.set && value != *s.Value: // the same again is what completion does
		return Usagef("run the command once for each", "%s is given twice", s.Flag)
	case value == "":
		return Usagef("leave the flag out, or name one", "%s has no name", s.Flag)
	}
	*s.Value, s.set = value, true
	return nil
}

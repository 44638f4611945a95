package panics

import (
	"errors"
	"fmt"
)

// RunLibrary calls do, in which a library parses what users wrote, and returns its error. A panic
// becomes an error about the text that does not quote it. A stack overflow cannot be recovered:
// bound the depth before.
func RunLibrary(name string, do func() error) error {
	err := Barrier{}.Run(name, "", do)
	var panicked *Error
	if errors.As(err, &panicked) {
		return fmt.Errorf("%s cannot cope with it (%s)", name, panicked.Kind)
	}
	return err
}

package panics

import (
	"errors"
	"fmt"
)

// Library calls do, in which a library reads what people have written, and returns its error.
// A panic in it is a mistake in the text, said without quoting it. A stack that overflows
// cannot be recovered: depth is bounded before.
func Library(name string, do func() error) error {
	err := Barrier{}.Run(name, "", do)
	var panicked *Error
	if errors.As(err, &panicked) {
		return fmt.Errorf("%s cannot cope with it (%s)", name, panicked.Kind)
	}
	return err
}

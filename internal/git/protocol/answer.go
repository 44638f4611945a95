package protocol

import (
	"errors"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Bare takes an error out of go-git's wrappers that hide what is in them.
func Bare(err error) error {
	var unexpected *plumbing.UnexpectedError
	var permanent *plumbing.PermanentError
	switch {
	case errors.As(err, &unexpected):
		return Bare(unexpected.Err)
	case errors.As(err, &permanent):
		return Bare(permanent.Err)
	}
	return err
}

// maxReason bounds what is shown of a server's answer: some answer with a page.
const maxReason = 300

// Short returns a server's answer in one line, and not more than people want to read.
func Short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

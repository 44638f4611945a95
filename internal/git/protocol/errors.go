package protocol

import (
	"errors"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// UnwrapGoGit returns the error inside go-git's wrappers that do not unwrap.
func UnwrapGoGit(err error) error {
	var unexpected *plumbing.UnexpectedError
	var permanent *plumbing.PermanentError
	switch {
	case errors.As(err, &unexpected):
		return UnwrapGoGit(unexpected.Err)
	case errors.As(err, &permanent):
		return UnwrapGoGit(permanent.Err)
	}
	return err
}

// maxReason bounds the part of a server's answer that is shown: some answer with a page.
const maxReason = 300

// ShortenReason returns a server's answer as one line of bounded length.
func ShortenReason(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

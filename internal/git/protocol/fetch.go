package protocol

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// ErrGone says that a server does not have what it was asked for.
var ErrGone = errors.New("the server does not have this object")

// Wanted is what a fetch asks for.
type Wanted struct {
	Wants []plumbing.Hash // of any objects: version 2 gives all that a server has
	Haves []plumbing.Hash // commits that are here, with all that led to them
	// Filter says what of that which they lead to is left out, in Git's words; "" for
	// nothing.
	Filter string
}

// Fetch asks for objects, and has the pack taken that comes. Nothing in the pack needs
// what is not in it.
func (s Server) Fetch(ctx context.Context, w Wanted, take func(pack io.Reader) error) error {
	var b request
	b.begin("fetch")
	b.line("no-progress")
	b.line("ofs-delta")
	if w.Filter != "" {
		b.line("filter " + w.Filter)
	}
	for _, id := range w.Wants {
		b.line("want " + id.String())
	}
	for _, id := range w.Haves {
		b.line("have " + id.String())
	}
	b.line("done")
	return s.post(ctx, b.end(), func(answer io.Reader) error { return takePack(answer, take) })
}

// takePack finds the pack in an answer.
func takePack(answer io.Reader, take func(io.Reader) error) error {
	in := bufio.NewReader(answer)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil || strings.Trim(string(head), "0123456789abcdef") != "" {
		return ErrUnsupported // nothing, or a page
	}
	lines := pktline.NewScanner(in)
	if !lines.Scan() {
		return refusal(lines.Err())
	}
	if text := strings.TrimSuffix(string(lines.Bytes()), "\n"); text != "packfile" {
		return ErrUnsupported
	}
	err = take(sideband.NewDemuxer(sideband.Sideband64k, in))
	if _, rest := io.Copy(io.Discard, in); rest != nil { // so that the connection can be used again
		err = errors.Join(err, rest)
	}
	return err
}

// refusal says what a server means that gives no pack.
func refusal(err error) error {
	var line *pktline.ErrorLine
	switch {
	case errors.As(err, &line) && strings.Contains(line.Text, "not our ref"):
		return fmt.Errorf("%w: %s", ErrGone, line.Text)
	case errors.As(err, &line), err == nil, errors.Is(err, pktline.ErrInvalidPktLen):
		return ErrUnsupported
	}
	return err
}

// Demultiplexed takes the pack out of a stream that may also have messages in it.
func Demultiplexed(c *capability.List, in io.Reader) io.Reader {
	switch {
	case c.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, in)
	case c.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, in)
	}
	return in
}

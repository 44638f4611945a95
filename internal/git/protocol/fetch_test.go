package protocol

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

func TestFetch(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         string
		err          error
		cut          bool
	}{
		{name: "a pack", answer: packet("packfile\n") + packet("\x02working\n") + packet("\x01PA") + packet("\x01CK") + "0000", want: "PACK"},
		{name: "none there", answer: packet("ERR upload-pack: not our ref " + id), err: ErrMissingObject},
		{name: "a filter that is not taken", answer: packet("ERR filter 'tree' not supported"), err: ErrUnsupported},
		{name: "nothing", err: ErrUnsupported},
		{name: "a page", answer: "<html>", err: ErrUnsupported},
		{name: "another section", answer: packet("acknowledgments\n"), err: ErrUnsupported},
		{name: "it fails on the way", answer: packet("packfile\n") + packet("\x01PA") + packet("\x03out of memory"), want: "PA", cut: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = string(body)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer s.Close()
			var got []byte
			w := FetchRequest{Wants: []plumbing.Hash{plumbing.NewHash(id)}, Haves: []plumbing.Hash{plumbing.NewHash(strings.Repeat("2", 40))}, Filter: "tree:0"}
			err := Server{Client: s.Client(), URL: s.URL + "/r.git"}.Fetch(t.Context(), w, func(pack io.Reader) (err error) {
				got, err = io.ReadAll(pack)
				return err
			})
			if string(got) != c.want || c.err != nil && !errors.Is(err, c.err) || (err != nil) != (c.err != nil || c.cut) {
				t.Errorf("the pack is %q (%v), want %q (%v)", got, err, c.want, c.err)
			}
			want := "0012command=fetch\n" + packet("agent="+strings.TrimSuffix(asked[strings.Index(asked, "agent=")+6:strings.Index(asked, "0001")], "\n")+"\n") + "0001" +
				packet("no-progress\n") + packet("ofs-delta\n") + packet("filter tree:0\n") + packet("want "+id+"\n") + packet("have "+strings.Repeat("2", 40)+"\n") + packet("done\n") + "0000"
			if asked != want {
				t.Errorf("asked %q, want %q", asked, want)
			}
		})
	}
}

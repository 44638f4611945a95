package protocol

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const id = "1111111111111111111111111111111111111111"

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

func TestReferences(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		want         map[string]string
		head, err    string
	}{
		{name: "references", answer: packet(id+" HEAD symref-target:refs/heads/main\n") + packet(id+" refs/heads/main\n") + "0000",
			want: map[string]string{"HEAD": id, "refs/heads/main": id}, head: "HEAD:refs/heads/main"},
		{name: "nothing", answer: "0000", want: map[string]string{}},
		{name: "no end", answer: packet(id + " refs/heads/main\n"), err: ErrUnsupported.Error()},
		{name: "version 0", answer: packet("ERR upload-pack: protocol error\n"), err: ErrUnsupported.Error()},
		{name: "a page", answer: "<html>", err: ErrUnsupported.Error()},
		{name: "refused", status: http.StatusBadRequest, err: ErrUnsupported.Error()},
		{name: "elsewhere", status: http.StatusMovedPermanently, err: ErrUnsupported.Error()},
		{name: "nobody", status: http.StatusUnauthorized, err: "authentication required: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Git-Protocol"), body)
				w.Header().Set("Location", "/other.git")
				w.WriteHeader(max(http.StatusOK, c.status))
				_, _ = io.WriteString(w, c.answer)
			}))
			defer s.Close()
			refs, err := Server{Client: s.Client(), URL: s.URL + "/r.git"}.ListReferences(t.Context(), []string{"HEAD", "refs/heads/"})
			if c.err != "" {
				if err == nil || err.Error() != c.err || c.err == ErrUnsupported.Error() && !errors.Is(err, ErrUnsupported) {
					t.Fatalf("the error is %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name, id := range refs.References {
				got[name] = id.String()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if head := strings.Join(refs.Capabilities.Get("symref"), " "); head != c.head {
				t.Errorf("HEAD is %q, want %q", head, c.head)
			}
			if want := "POST /r.git/git-upload-pack version=2 0014command=ls-refs\n"; !strings.HasPrefix(asked, want) || len(asked) > 250 {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

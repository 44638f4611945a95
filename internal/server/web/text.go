package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

// prefersText reports whether a client asks for the text of a page rather than for HTML: it names text/plain, and
// does not name HTML as much. Browsers, and clients that take anything, get HTML.
func prefersText(r *http.Request) bool {
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	asText := findQuality(accepted, "text/plain")
	return asText > 0 && asText > findQuality(accepted, "text/html")
}

// findQuality returns how much a client wants a type that it names; 0 if it names no such type.
func findQuality(accepted, kind string) float64 {
	for one := range strings.SplitSeq(accepted, ",") {
		name, parameters, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(name), kind) {
			continue
		}
		for p := range strings.SplitSeq(parameters, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			if !strings.EqualFold(key, "q") {
				continue
			}
			quality, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0
			}
			return quality
		}
		return 1
	}
	return 0
}

func (s *site) loadText(ctx context.Context, target *url.URL, state uint64) (rendered, error) {
	return s.loadOnce("text "+target.EscapedPath()+"?"+target.RawQuery, state, func() (rendered, error) { return s.renderText(ctx, target) })
}

func (s *site) renderText(ctx context.Context, target *url.URL) (rendered, error) {
	q := s.find(target)
	src := s.loadSource(ctx, q)
	f := s.findAt(ctx, src, q)
	if f.redirect != "" {
		return rendered{code: f.code, redirect: f.redirect}, nil
	}
	facts := plaintext.Facts{Chain: src.Snapshot.Chain, Now: s.options.Now(), Filtered: target.RawQuery != "", At: target.Query().Get("at")}
	for _, o := range src.Clusters {
		facts.Standings = append(facts.Standings, o.Standing)
	}
	return newText(f.code, f.answer, facts)
}

func newText(code int, of any, facts plaintext.Facts) (rendered, error) {
	lines, err := "", error(nil)
	switch a := of.(type) {
	case errorAnswer:
		lines = plaintext.FormatRefusal(a.Error, pageHint(a.Hint))
	case missingAnswer:
		lines = plaintext.FormatRefusal(a.Error, pageHint(a.Hint))
	case page.Settings:
		lines = fmt.Sprintf("theme: %s\nfollows changes: %t\nshortcuts: %t\nA browser changes them at %s, and a cookie remembers them.\n", cmp.Or(a.Theme, "as the system"), !a.Paused, !a.NoKeys, settingsPath)
	case page.Missing:
		lines = plaintext.FormatRefusal(a.Error, a.Hint)
	case page.Refused:
		lines = plaintext.FormatRefusal(a.Error, a.Hint)
	default:
		lines, err = plaintext.FormatAnswer(of, facts)
	}
	return newRendered(code, plainText, []byte(lines)), err
}

// pageHint returns a hint with the paths of pages, where it has those of their answers.
func pageHint(hint string) string { return strings.ReplaceAll(hint, api+"/", "/") }

func newRendered(code int, kind string, body []byte) rendered {
	sum := sha256.Sum256(body)
	return rendered{code: code, kind: kind, body: body, packed: packBody(body), version: hex.EncodeToString(sum[:12])}
}

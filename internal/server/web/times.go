package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// readTimes lets people write times in words: a parameter such as at=yesterday 17:48 becomes the exact time, by the zone of
// the reader's view. A page is redirected, so that its address means the same to whoever gets it.
func (s *site) readTimes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		now := s.options.Now()
		isRead := r.Method == http.MethodGet || r.Method == http.MethodHead // a form that is sent must arrive
		if !isRead || len(r.URL.RawQuery) == 0 || !replaceTimes(query, func() time.Time { return now.In(readView(r).Location()) }) {
			next.ServeHTTP(w, r)
			return
		}
		if !isForProgram(r.URL.Path) {
			w.Header().Set("Location", "?"+query.Encode()) // whatever the path is below which a proxy has the site
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		exact := r.Clone(r.Context())
		exact.URL.RawQuery = query.Encode()
		next.ServeHTTP(w, exact)
	})
}

// replaceTimes puts exact times in the place of those in words, and reports whether there are some. What programs write, a day
// or a commit is left as it is, and so is what is no time.
func replaceTimes(query url.Values, now func() time.Time) (replaced bool) {
	for _, name := range []string{"at", "since", "until", "from", "to"} {
		before, written := "", query.Get(name)
		if name == "from" || name == "to" { // ENVIRONMENT@MOMENT
			environment, moment, isPast := strings.Cut(written, "@")
			if !isPast {
				continue
			}
			before, written = environment+"@", moment
		}
		if _, isExact := history.ParseMoment(written); isExact || len(written) > maxQuery {
			continue
		}
		if at, ok := text.ParsePast(written, now()); ok {
			query.Set(name, before+at.UTC().Format(time.RFC3339))
			replaced = true
		}
	}
	return replaced
}

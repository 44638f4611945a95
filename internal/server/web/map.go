package web

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

func readMap(src answer.Source, query url.Values) (answer.FleetMap, bool) {
	pull, err := strconv.Atoi(query.Get("pull"))
	if query.Has("pull") && (err != nil || pull <= 0) {
		pull = math.MaxInt // no pull request has it
	}
	return src.FleetMap(query.Get("env"), pull)
}

// findMap returns the map of an environment; where a point of it is named, the way to the assignment there.
func findMap(src answer.Source, q request) found {
	query := q.query
	one, ok := readMap(src, query)
	switch {
	case !ok && slices.Contains(one.Environments, query.Get("env")):
		return answerMissing(fmt.Sprintf("environment %q has no open pull request %q", query.Get("env"), query.Get("pull")), "/map without pull shows how clusters stand")
	case !ok:
		return answerUnknown("environment with a map", query.Get("env"), one.Environments, "environments")
	}
	f := newFound(one)
	if !query.Has("at.x") && !query.Has("at.y") {
		return f
	}
	x, errX := strconv.Atoi(query.Get("at.x"))
	y, errY := strconv.Atoi(query.Get("at.y"))
	row, column, hit := page.NewMap(one).Find(x, y)
	if errX != nil || errY != nil || !hit {
		return answerMissing(fmt.Sprintf("the map has no assignment at the point at.x=%q and at.y=%q", query.Get("at.x"), query.Get("at.y")), "/map without them is the whole map")
	}
	f.redirect = "assignments/" + url.PathEscape(one.Environment) + "/" + url.PathEscape(one.ClusterTypes[row]) + "/" + url.PathEscape(one.Targets[column])
	if at := query.Get("at"); at != "" {
		f.redirect += "?at=" + url.QueryEscape(at)
	}
	return f
}

func (s *site) serveMapPicture(w http.ResponseWriter, r *http.Request) {
	q := s.find(&url.URL{Path: mapPath, RawQuery: r.URL.RawQuery})
	src := s.loadSource(r.Context(), q)
	one, ok := answer.FleetMap{}, false
	if q.isPast() {
		one, ok = s.findAt(r.Context(), src, q).answer.(answer.FleetMap)
	} else {
		one, ok = readMap(src, q.query)
	}
	if !ok {
		s.refuse(http.StatusNotFound, fmt.Sprintf("there is no map of %q", r.URL.Query().Get("env")), "/api/v1/map names those that there are")(w, r)
		return
	}
	var buffer bytes.Buffer
	err := png.Encode(&buffer, page.NewMap(one).Draw())
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	s.writePacked(w, r, http.StatusOK, "image/png", buffer.Bytes(), nil)
}

package page

import (
	"html/template"
	"net/url"
	"strings"
)

// moment is the moment that a page is about, as its address has it; "" for now.
type moment string

// funcs returns the functions with which templates lead from a page about a moment to other pages about it.
func (m moment) funcs() template.FuncMap {
	return template.FuncMap{"moment": func() string { return string(m) }, "keepMoment": m.keep}
}

func (m moment) keep(address string) template.URL {
	if m != "" {
		sign := "?"
		if strings.Contains(address, "?") {
			sign = "&"
		}
		address += sign + "at=" + url.QueryEscape(string(m))
	}
	return template.URL(address)
}

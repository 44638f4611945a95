package page

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

// View is how a reader wants to see all pages.
type View struct {
	// Theme is "light" or "dark"; "" follows the system.
	Theme string
	// Paused keeps pages from following the state, and NoKeys turns the shortcuts off.
	Paused, NoKeys bool
	// Zone is the time zone of what the reader types, as "Europe/Berlin"; "" is UTC, and so is a name that does not exist.
	Zone string
}

var zoneName = regexp.MustCompile(`^[A-Za-z0-9_+/-]{0,64}$`)

// Location returns the time zone of what the reader types.
func (v View) Location() *time.Location {
	zone, err := time.LoadLocation(v.Zone)
	if err != nil || v.Zone == time.Local.String() { // that of the server says nothing of the reader's
		return time.UTC
	}
	return zone
}

// KnowsZone reports whether the time zone exists.
func (v View) KnowsZone() bool { return v.Zone == "" || v.Location().String() == v.Zone }

// autoTheme is what forms call the theme of the system.
const autoTheme = "auto"

// ParseView returns what a text of String says; of any other text, what it understands.
func ParseView(text string) View {
	values, err := url.ParseQuery(text)
	if err != nil {
		return View{}
	}
	return View{}.With(values)
}

// With returns the view with the changes of a form.
func (v View) With(form url.Values) View {
	switch theme := form.Get("theme"); theme {
	case "light", "dark":
		v.Theme = theme
	case autoTheme:
		v.Theme = ""
	}
	if zone := strings.TrimSpace(form.Get("zone")); form.Has("zone") && zoneName.MatchString(zone) {
		v.Zone = zone
	}
	v.Paused, v.NoKeys = isOff(form.Get("live"), v.Paused), isOff(form.Get("keys"), v.NoKeys)
	return v
}

func isOff(value string, before bool) bool {
	switch value {
	case "off":
		return true
	case "on":
		return false
	}
	return before
}

// String returns the view as a text for a cookie.
func (v View) String() string {
	values := url.Values{}
	if v.Theme != "" {
		values.Set("theme", v.Theme)
	}
	if v.Paused {
		values.Set("live", "off")
	}
	if v.NoKeys {
		values.Set("keys", "off")
	}
	if v.Zone != "" {
		values.Set("zone", v.Zone)
	}
	return values.Encode()
}

// Settings is the page on which a reader changes the view.
type Settings struct{ View }

// themeChoice is a theme that may be chosen.
type themeChoice struct {
	Name, Words string
	Selected    bool
}

// Themes returns the themes that may be chosen.
func (s Settings) Themes() []themeChoice {
	return []themeChoice{{autoTheme, "as the system", s.Theme == ""}, {"light", "light", s.Theme == "light"}, {"dark", "dark", s.Theme == "dark"}}
}

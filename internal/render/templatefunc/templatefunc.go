// Package templatefunc holds the functions that templates may call.
//
// What the package keeps true:
//
//   - A function is hermetic: its result depends on its arguments and on nothing
//     else (no environment, clock, time zone, network or randomness), has the same
//     bytes in every run, and never contains an address.
//   - A function that Kalypso has too returns the bytes of Kalypso's: sprig v2.22.0 with
//     the versions of xstrings and mergo that Kalypso is built with, under
//     Kalypso's own toYaml, stringify, hash and unquote. Newer ones differ:
//     camelcase of xstrings 1.5 begins with a small letter.
//   - No function returns a text over 1 MiB or builds a collection of more than
//     10,000 elements, over 1 MiB of text or nested deeper than 100 levels. That
//     includes print, printf, println, html, js and urlquery of text/template,
//     which the map replaces for that reason. Loops and templates that call
//     themselves are not functions: the engine bounds them.
//   - The work of a call is counted before it is done ([Meter]), in steps that are the
//     same on every machine; regular expressions are bounded in size, and compiled once.
//
// A function that fails panics or returns an error; text/template turns both into
// an error with the position of the call.
//
// Of the 150 functions of sprig 123 are here, by group of its source: strings
// (all but rand* and shuffle), numbers, lists, dictionaries, defaults and JSON,
// reflection, regular expressions, paths, URLs, encodings, versions, the three
// checksums, decryptAES and fail. The other 27 are in [RemovedReason]: all of the date
// group, since a date can only come from the clock or the local time zone; env
// and expandenv; getHostByName; what is random, encryptAES by its random vector
// among it; and what makes or handles keys. keys and values follow the sorted
// keys of each dictionary, where sprig follows the order of Go's maps.
//
// toTfvars and toEnv are our own. There is no toHelmValues: toYaml quotes every
// text that would read back as something else, which is all that it would do.
package templatefunc

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
)

// Map returns the functions by name, for [template.Template.Funcs], with their work counted
// by a meter. The map is the caller's. The functions hold no state but the meter: those of
// different meters may be called at the same time, as long as those that [Mutates] names
// get data that nothing else reads.
func Map(m *Meter) template.FuncMap {
	metered := make(template.FuncMap, len(unmetered)+6)
	for name, f := range unmetered {
		metered[name] = m.meterFunction(name, f)
	}
	metered["regexMatch"], metered["regexFind"] = m.regexMatch, m.regexFind
	metered["regexFindAll"] = func(expression, text string, n int) ([]string, error) {
		return m.regexTexts(expression, text, n, (*regexp.Regexp).FindAllString)
	}
	metered["regexSplit"] = func(expression, text string, n int) ([]string, error) {
		return m.regexTexts(expression, text, n, (*regexp.Regexp).Split)
	}
	metered["regexReplaceAll"] = func(expression, text, with string) (string, error) {
		return m.regexReplace(expression, text, with, strings.Count(with, "$"), (*regexp.Regexp).ReplaceAllString)
	}
	metered["regexReplaceAllLiteral"] = func(expression, text, with string) (string, error) {
		return m.regexReplace(expression, text, with, 0, (*regexp.Regexp).ReplaceAllLiteralString)
	}
	return metered
}

// Names returns the names of the functions, sorted, for hints.
func Names() []string {
	return slices.Sorted(maps.Keys(Map(&Meter{})))
}

// unmetered holds the functions without a meter.
var unmetered = func() map[string]plainFunction {
	m := sprig.TxtFuncMap()
	maps.DeleteFunc(m, func(name string, _ any) bool { return RemovedReason(name) != "" })
	maps.Copy(m, template.FuncMap{
		"keys":           sortedKeys,
		"values":         sortedValues,
		"merge":          mergeCopies(m["merge"].(func(map[string]any, ...map[string]any) any)),
		"mergeOverwrite": mergeCopies(m["mergeOverwrite"].(func(map[string]any, ...map[string]any) any)),
		"join":           boundJoin(m["toStrings"].(func(any) []string)),
		"indent":         func(spaces int, text string) (string, error) { return indentWith("", spaces, text) },
		"nindent":        func(spaces int, text string) (string, error) { return indentWith("\n", spaces, text) },

		"toYaml":    toYAML,
		"stringify": stringifyValues,
		"hash":      hashValue,
		"unquote":   unquoteText,
		"toTfvars":  toTfvars,
		"toEnv":     toEnv,

		"print":    fmt.Sprint,
		"println":  fmt.Sprintln,
		"printf":   boundedPrintf,
		"html":     template.HTMLEscaper,
		"js":       template.JSEscaper,
		"urlquery": template.URLQueryEscaper,
	})
	plain := make(map[string]plainFunction, len(m))
	for name, f := range m {
		plain[name] = newPlainFunction(f)
	}
	return plain
}()

// Mutates reports whether the named function changes its arguments. A template
// that calls one needs data of its own: maps, and lists too, since sortAlpha
// sorts a []string in place.
func Mutates(name string) bool {
	switch name {
	case "set", "unset", "merge", "mergeOverwrite", "sortAlpha":
		return true
	}
	return false
}

// RemovedReason returns why one of Kalypso's functions is not offered, as what the function
// does ("reads the environment"); "" for any other name.
func RemovedReason(name string) string {
	switch name {
	case "env", "expandenv":
		return "reads the environment"
	case "getHostByName":
		return "reaches the network"
	case "now", "ago":
		return "reads the clock"
	case "date", "dateInZone", "date_in_zone", "dateModify", "date_modify",
		"htmlDate", "htmlDateInZone", "toDate", "unixEpoch":
		return "depends on the clock or the time zones of the machine"
	case "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "uuidv4", "shuffle",
		"encryptAES", "genPrivateKey", "genCA", "genSelfSignedCert", "genSignedCert":
		return "gives another result each time"
	case "derivePassword", "buildCustomCert":
		return "puts a password or a private key into the output"
	}
	return ""
}

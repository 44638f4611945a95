// Package templatefunc holds the functions that templates may call.
//
// Functions are hermetic: results depend on arguments only (no environment, clock, time
// zone, network or randomness), have the same bytes in every run, and contain no
// addresses. Functions that Kalypso has return Kalypso's bytes: sprig v2.22.0 with
// Kalypso's camelcase and mergo, under Kalypso's own toYaml, stringify, hash and unquote.
//
// No function returns over 1 MiB of text, 10,000 elements or 100 levels. For that
// reason the map replaces print, printf, println, html, js and urlquery. The engine
// bounds loops and recursive templates. Work is counted before it is done ([Meter]), in
// steps that are the same on every machine. Failing functions panic or return an error;
// text/template adds the position.
//
// 123 of sprig's 150 functions are here; [RemovedReason] explains the others. keys and
// values are sorted by key, where sprig has Go's map order. toTfvars and toEnv are our
// own. toHelmValues is not needed, since toYaml quotes every text that would read back
// differently.
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

// Map returns the functions for [template.Template.Funcs], metered by m. The caller
// owns the map. Functions of different meters may run concurrently, but those that
// [Mutates] names need data of their own.
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

// Names returns the sorted names of the functions, for hints.
func Names() []string {
	return slices.Sorted(maps.Keys(Map(&Meter{})))
}

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
		"camelcase": camelCase,
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

// Mutates reports whether the function changes its arguments: maps, or lists too, since
// sortAlpha sorts a []string in place.
func Mutates(name string) bool {
	switch name {
	case "set", "unset", "merge", "mergeOverwrite", "sortAlpha":
		return true
	}
	return false
}

// RemovedReason returns the reason why a Kalypso function is not offered, as a verb
// phrase ("reads the environment"); "" for other names.
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

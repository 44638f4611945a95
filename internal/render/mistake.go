package render

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

var errTooLong = errors.New("too much text")

// text/template reports positions only in its error text: "template: NAME:LINE:COLUMN:
// executing "NAME" at <WHAT>: WHY".
var (
	errorPlace   = regexp.MustCompile(`^template: [^:]*:(\d+)(?::\d+)?: (.*)$`)
	executing    = regexp.MustCompile(`^executing "[^"]*" at <(.*?)>: (.*)$`)
	noField      = regexp.MustCompile(`can't evaluate field (\w+) in type \*?render\.(?:Data|dataType)`)
	noEntry      = regexp.MustCompile(`map has no entry for key "(.*)"`)
	noFunction   = regexp.MustCompile(`function "(\w+)" not defined`)
	startedAt    = regexp.MustCompile(` started at [^ ]*:\d+$`)
	errorCalling = regexp.MustCompile(`^error calling (\w+): (.*)$`)
)

func mistakeOf(err error, line int) *Mistake {
	if errors.Is(err, errTooLong) {
		return &Mistake{Line: line, Summary: tooLongMistake(0).Summary}
	}
	if errors.Is(err, templatefunc.ErrSteps) {
		return &Mistake{Line: line, Summary: fmt.Sprintf("the template was stopped after %d steps", maxSteps), Hint: "a loop in it is too long, it calls itself, or its functions read too much text"}
	}
	message := text.OneLine(err.Error())
	m := &Mistake{Line: line, Summary: strings.TrimPrefix(message, "template: ")}
	if place := errorPlace.FindStringSubmatch(message); place != nil {
		m.Line, _ = strconv.Atoi(place[1])
		m.Summary = place[2]
	}
	m.Summary = startedAt.ReplaceAllString(m.Summary, "")
	at := ""
	if e := executing.FindStringSubmatch(m.Summary); e != nil {
		at, m.Summary = unweighed.ReplaceAllString(e[1], "$1"), e[2]
	}
	m.explainMessage(at)
	return m
}

func (m *Mistake) clampLine(text string) *Mistake {
	m.Line = min(m.Line, 1+strings.Count(strings.TrimRight(text, "\n"), "\n"))
	return m
}

func (m *Mistake) explainMessage(at string) {
	if f := noField.FindStringSubmatch(m.Summary); f != nil {
		m.Summary = fmt.Sprintf("there is no field .%s", f[1])
		m.Hint = cmp.Or(problem.DidYouMean(f[1], fieldNames), "the fields are ."+strings.Join(fieldNames, ", ."))
		return
	}
	if e := noEntry.FindStringSubmatch(m.Summary); e != nil {
		m.Summary = fmt.Sprintf("%s has no value (there is no key %q)", at, e[1])
		m.Hint = missingHint
		return
	}
	if f := noFunction.FindStringSubmatch(m.Summary); f != nil {
		m.Summary = fmt.Sprintf("there is no function %q", f[1])
		m.Hint = functionHint(f[1])
		return
	}
	if c := errorCalling.FindStringSubmatch(m.Summary); c != nil {
		m.Summary = c[1] + ": " + c[2]
		if c[1] == "fail" { // the template's own message
			m.Summary = c[2]
			return
		}
	}
	if at != "" {
		at = strings.TrimSuffix(strings.TrimPrefix(at, "{{"), "}}")
		m.Summary = fmt.Sprintf("at {{%s}}: %s", at, m.Summary)
	}
}

// markInOutput rewords a mistake in output, which has no line in the control plane.
func (m *Mistake) markInOutput() *Mistake {
	line := m.Line
	m.Line = 0
	if line > 0 {
		m.Summary = fmt.Sprintf("in line %d of the output, which is expanded again: %s", line, m.Summary)
	} else {
		m.Summary = "in the output, which is expanded again: " + m.Summary
	}
	m.Hint = cmp.Or(m.Hint, "if the output is to have \"{{\", set the annotation "+model.ExpansionsAnnotation+": \"1\" on the Template")
	return m
}

var helmOnly = []string{"include", "tpl", "required", "lookup", "fromYaml", "toToml", "fromJson"}

func functionHint(name string) string {
	if slices.Contains(helmOnly, name) {
		return name + " is a function of Helm; " + templatesPage + " lists the functions of templates"
	}
	if why := templatefunc.RemovedReason(name); why != "" {
		return fmt.Sprintf("%s is not offered: it %s; templates are hermetic", name, why)
	}
	return problem.DidYouMean(name, templatefunc.Names())
}

package gate

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type httpSpec struct {
	URL     string        `yaml:"url" required:"true"`
	Expect  string        `yaml:"expect" required:"true"`
	Fail    string        `yaml:"fail"`
	Every   time.Duration `yaml:"every"`
	Timeout time.Duration `yaml:"timeout"`
	Secret  string        `yaml:"secret"`
	Send    []string      `yaml:"send"` // the body to post; nil for GET
}

type httpGate struct {
	gateName
	spec            httpSpec
	expect, failure *condition
}

const (
	shortestEvery = 5 * time.Second
	longestAnswer = time.Minute
)

func newHTTPGate(spec model.GateSpec) (Gate, problem.List) {
	s := httpSpec{Every: time.Minute, Timeout: 10 * time.Second}
	problems := spec.Decode(&s)
	if problems.Stops() {
		return nil, problems
	}
	g := httpGate{gateName: gateNameOf(spec), spec: s}
	problems = append(problems, checkURL(spec, s)...)
	problems = append(problems, checkSend(spec, s.Send)...)
	compiled := func(name, text string) *condition {
		e, err := compileCondition(name, text)
		if err != nil {
			problems = append(problems, spec.Problem(`write CEL over status, body, text, environment, commit and output, such as status == 200 && body.healthy`,
				"%s: %v", name, err))
		}
		return e
	}
	g.expect = compiled("expect", s.Expect)
	if s.Fail != "" {
		g.failure = compiled("fail", s.Fail)
	}
	if s.Every < shortestEvery {
		problems = append(problems, spec.Problem("write 5s or more", "every cannot be %s", s.Every))
	}
	if s.Timeout <= 0 || s.Timeout > longestAnswer {
		problems = append(problems, spec.Problem("write at most 1m: other environments wait for the answer too", "timeout cannot be %s", s.Timeout))
	}
	return g, problems
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

const wavePlaceholder = "{wave}"

var placeholders = []string{"{commit}", "{environment}", "{output}"}

func checkURL(spec model.GateSpec, s httpSpec) problem.List {
	var problems problem.List
	add := func(hint, format string, args ...any) {
		problems = append(problems, spec.Problem(hint, format, args...))
	}
	for _, p := range placeholder.FindAllString(s.URL, -1) {
		if p != wavePlaceholder && !slices.Contains(placeholders, p) {
			add("there are "+text.Join(placeholders, " and ")+", and in waves "+wavePlaceholder, "unknown placeholder %s in the URL", p)
		}
	}
	_, host, _ := strings.Cut(s.URL, "://")
	if i := strings.IndexAny(host, `/?#\`); i >= 0 {
		host = host[:i]
	}
	u, err := url.Parse(placeholder.ReplaceAllString(s.URL, "x"))
	switch {
	case err != nil:
		add("write it as https://tests.example.com/{commit}", "the URL %q cannot be read", s.URL)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		add("write it as https://tests.example.com/{commit}", "the URL %q is not one of http or https with a host", s.URL)
	case strings.ContainsAny(host, "{}"):
		add("write the host out: a commit must not choose the server", "the host of the URL %q has a placeholder", s.URL)
	case u.User != nil:
		add("put it into the settings, and refer to it with secret", "the URL contains a user or a password")
	case s.Secret != "" && u.Scheme == "http":
		p := spec.Problem("use https", "the secret %s is sent unencrypted", s.Secret)
		p.Warning = true
		problems = append(problems, p)
	}
	return problems
}

func (g httpGate) answerKey(f Facts) string {
	return "http " + f.Environment + " " + g.name
}

func (g httpGate) Needs(f Facts) []Need {
	body, reason := g.findBody(f)
	if reason != "" {
		return []Need{{Key: plansKey(f), Kind: StackPlans}}
	}
	return []Need{{Key: g.answerKey(f), Kind: HTTP, URL: g.expandURL(f), Body: body, MaxAge: g.spec.Every, Timeout: g.spec.Timeout, Secret: g.spec.Secret}}
}

func (g httpGate) expandURL(f Facts) string {
	escape := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	return strings.NewReplacer("{environment}", escape(f.Environment), "{commit}", escape(f.Commit), "{output}", escape(f.OutputCommit), wavePlaceholder, escape(f.Wave)).Replace(g.spec.URL)
}

// Evaluate evaluates the last response. It ignores a response that is older than twice its maximum
// age, or from another URL, which is about another commit.
func (g httpGate) Evaluate(f Facts) Verdict {
	_, unsent := g.findBody(f)
	a, ok := f.Answers[g.answerKey(f)]
	next := a.Time.Add(g.spec.Every)
	switch {
	case unsent != "":
		return g.wait("%s has not been requested yet: %s", g.displayHost(), unsent)
	case !ok, a.URL != "" && a.URL != g.expandURL(f):
		return g.wait("%s has not been requested yet", g.displayHost())
	case a.Reason != "":
		return g.wait("the request to %s failed: %s", g.displayHost(), a.Reason).withValidUntil(next, f.Now)
	case !f.Now.Before(next.Add(g.spec.Every)):
		return g.wait("%s was last requested at %s", g.displayHost(), formatTime(a.Time))
	}
	return g.evaluateAnswer(expressionVariables(f, a), a).withValidUntil(next, f.Now)
}

func (g httpGate) evaluateAnswer(variables map[string]any, a Answer) Verdict {
	if g.failure != nil {
		failed, err := g.failure.evaluate(variables)
		switch {
		case err != nil:
			return g.wait("%s answered %d; %v", g.displayHost(), a.Code, err)
		case failed:
			return g.fail("%s answered %d, and fail is true", g.displayHost(), a.Code)
		}
	}
	yes, err := g.expect.evaluate(variables)
	switch {
	case err != nil:
		return g.wait("%s answered %d; %v", g.displayHost(), a.Code, err)
	case !yes:
		return g.wait("%s answered %d, and expect is not true yet", g.displayHost(), a.Code)
	default:
		return g.pass("%s answered as expected", g.displayHost())
	}
}

func (g httpGate) displayHost() string {
	u, err := url.Parse(placeholder.ReplaceAllString(g.spec.URL, "x"))
	if err != nil {
		return "the server"
	}
	return u.Host
}

func (g httpGate) Forecast(f Facts, from time.Time) Forecast {
	return forecastVerdict(g.Evaluate(f), from, "the answer of "+g.displayHost())
}

package argocd

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// policy is an Application's sync policy in terms of Flux.
type policy struct {
	deletion        string // of the Kustomization
	prune           bool
	selfHeal        bool
	createNamespace bool
	force           bool
	noValidation    bool
	retryInterval   string // "" for Flux's default
}

// defaultRetry is Argo CD's.
const defaultRetry = 5 * time.Second

func (t *translator) readSyncPolicy() {
	line := t.app.Metadata.Name.Line
	p := t.app.Spec.SyncPolicy
	if a := p.Automated; a == nil || a.Enabled != nil && !*a.Enabled {
		t.warnf(line, "", "Argo CD waits until a person synchronizes the Application; Flux deploys it once it is merged")
	} else {
		t.policy.prune, t.policy.selfHeal = a.Prune, a.SelfHeal
		if a.AllowEmpty != nil && !*a.AllowEmpty {
			t.warnf(line, "", "spec.syncPolicy.automated.allowEmpty has no effect: Flux removes all objects of an empty folder too")
		}
	}
	for _, o := range p.SyncOptions {
		t.readOption(o.Line, o.Text)
	}
	t.readRetry(line, p.Retry)
}

func (t *translator) readOption(line int, option string) {
	name, value, _ := strings.Cut(option, "=")
	on := value == "true"
	switch strings.TrimSpace(option) {
	case "CreateNamespace=true":
		t.policy.createNamespace = true
		return
	case "Force=true":
		t.policy.force = true
		return
	case "Validate=false":
		t.policy.noValidation = true
		return
	case "PrunePropagationPolicy=background":
		if t.policy.deletion == "WaitForTermination" {
			t.policy.deletion = "Delete"
		}
		return
	case "ServerSideApply=true", "Validate=true", "PrunePropagationPolicy=foreground", "RespectIgnoreDifferences=true":
		return
	}
	switch name {
	case "Replace", "PruneLast", "ApplyOutOfSyncOnly", "FailOnSharedResource", "SkipDryRunOnMissingResource", "ServerSideApply", "ClientSideApplyMigration", "Prune", "PrunePropagationPolicy", "RespectIgnoreDifferences", "DisableClientSideApplyMigration":
		if on || value != "false" || name == "ServerSideApply" || name == "Prune" {
			t.warnf(line, "", "the option %s has no effect: Flux does not have it", text.Shorten(option, 100))
		}
	case "CreateNamespace", "Force", "Validate", "Delete":
		if value != "false" || name == "Delete" {
			t.addf(line, "it is true or false", "the option %s cannot be translated", text.Shorten(option, 100))
		}
	default:
		t.addf(line, "", "spec.syncPolicy.syncOptions: the option %q is not known", text.Shorten(option, 100))
	}
}

func (t *translator) readRetry(line int, r *retry) {
	if r == nil {
		return
	}
	interval := defaultRetry
	var without []string
	if limit := r.Limit; limit.Kind != 0 {
		line = limit.Line
		n, err := strconv.Atoi(limit.Value)
		switch {
		case err != nil || limit.Kind != yaml.ScalarNode:
			t.addf(line, "", "spec.syncPolicy.retry.limit should be a whole number, but is %q", text.Shorten(limit.Value, 100))
		case n >= 0:
			without = append(without, "limit")
		}
	}
	if b := r.Backoff; b != nil {
		if b.Factor.Kind != 0 && b.Factor.Value != "1" {
			without = append(without, "backoff.factor")
		}
		if b.MaxDuration.Text != "" {
			without = append(without, "backoff.maxDuration")
		}
		if b.Duration.Text != "" {
			line = b.Duration.Line
			d, ok := parseDuration(b.Duration.Text)
			if !ok {
				t.addf(line, "write a duration such as 5s or 2m", "spec.syncPolicy.retry.backoff.duration cannot be %q", text.Shorten(b.Duration.Text, 100))
				return
			}
			interval = d
		}
	}
	t.policy.retryInterval = text.FormatDuration(interval)
	if len(without) > 0 {
		t.warnf(line, "", "spec.syncPolicy.retry: Flux tries again every %s, without an end: %s cannot be translated", t.policy.retryInterval, text.Join(without, " and "))
	}
}

const (
	minRetry = time.Second
	maxRetry = 24 * time.Hour
)

// parseDuration reads Argo CD durations: numbers without a unit are seconds.
func parseDuration(written string) (time.Duration, bool) {
	d, err := time.ParseDuration(written)
	if seconds, failed := strconv.Atoi(written); failed == nil && seconds < int(maxRetry/time.Second) {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	return d.Truncate(time.Second), err == nil && d >= minRetry && d <= maxRetry
}

func (t *translator) readDifferences() {
	line := t.app.Metadata.Name.Line
	for i, d := range t.app.Spec.IgnoreDifferences {
		if len(d.JQPathExpressions) > 0 {
			t.addf(d.JQPathExpressions[0].Line, "write jsonPointers", "spec.ignoreDifferences[%d].jqPathExpressions cannot be translated", i)
		}
		if len(d.ManagedFieldsManagers) > 0 {
			t.addf(d.ManagedFieldsManagers[0].Line, "write jsonPointers", "spec.ignoreDifferences[%d].managedFieldsManagers cannot be translated", i)
		}
		if len(d.JSONPointers) == 0 {
			continue
		}
		for _, p := range d.JSONPointers {
			if !strings.HasPrefix(p, "/") {
				t.addf(line, "as in /spec/replicas", "spec.ignoreDifferences[%d].jsonPointers: %q is not a JSON pointer", i, text.Shorten(p, 100))
			}
		}
		t.ignored = append(t.ignored, ignoreRule{d.JSONPointers, objectTarget{
			Group: globPattern(d.Group), Kind: globPattern(d.Kind), Name: globPattern(d.Name), Namespace: globPattern(d.Namespace),
		}})
	}
}

// globPattern translates "*" to a regular expression; "" matches any text.
func globPattern(glob string) string {
	if glob == "*" {
		return ""
	}
	return strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, ".*")
}

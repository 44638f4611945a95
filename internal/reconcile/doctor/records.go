package doctor

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// readPromotion reads merge settings, branches for records, and whether workflows are used.
func (d *examination) readPromotion(ctx context.Context, s *source.Source) error {
	d.merge = maps.Clone(d.config.Merge)
	base, err := s.Base(ctx)
	if err != nil {
		return err
	}
	chain, problems := model.NewChain(base.Progress, base.Environments, d.config.NextEnvironment)
	d.order = chain.SortNames(list.Convert(base.Environments, func(e *model.Environment) string { return e.Name }))
	if d.config.Promotion != "managed" {
		return nil
	}
	if chain.External || problems.Stops() || base.Progress.Problems.Stops() { // the rehearsal reports it
		return nil
	}
	if d.merge == nil {
		d.merge = map[string]string{}
	}
	for _, stage := range chain.Stages {
		if stage.Merge != "" {
			d.merge[stage.Name] = stage.Merge
		}
		dispatches := func(g model.GateSpec) bool { return g.Kind == "dispatch" }
		d.dispatches = d.dispatches || slices.ContainsFunc(stage.Gates, dispatches) || slices.ContainsFunc(stage.Proof, dispatches)
		i := slices.IndexFunc(base.Environments, func(e *model.Environment) bool { return e.Name == stage.Name })
		if i < 0 || stage.Record == "pull-request" {
			continue
		}
		place := base.Environments[i].ControlPlane
		r := d.repositoryAt(access.ReadLocation(d.config, place.Repo))
		r.records = append(r.records, output{stage.Name, place.Branch})
	}
	return nil
}

// addRecord reports whether protection lets us push records; by describes the protection.
func (d *examination) addRecord(r *repository, to output, allowed bool, by string) {
	what := r.redactedURL() + ": records on " + to.branch
	if allowed {
		d.addOK(what, "the protection of the branch lets us push them")
		return
	}
	level := Fail
	if !d.config.Write {
		level = Warn
	}
	d.addFinding(level, what, by+" keeps us from pushing which commit "+to.environment+" has",
		"let the account of the token push to the branch, or write record: pull-request for "+to.environment+" into .fairlead/promotion.yaml")
}

// recordRules has the rules of GitHub that block pushes of records.
var recordRules = map[string]string{
	"update":                 "the rule that only some may update the branch",
	"pull_request":           "the rule that changes come by pull request",
	"required_status_checks": "the rule that checks have to pass before",
	"merge_queue":            "the merge queue",
}

// checkGitHubRecords cannot see whether we may bypass the rules.
func (d *examination) checkGitHubRecords(ctx context.Context, r *repository) {
	for _, to := range r.records {
		var rules []struct {
			Type string `json:"type"`
		}
		said, err := r.api.getJSON(ctx, &rules, "per_page=100", r.hubPath("rules", "branches", to.branch)...)
		if err != nil || !said.isGood() {
			continue
		}
		for _, rule := range rules {
			if by := recordRules[rule.Type]; by != "" {
				d.addWarning(r.redactedURL()+": records on "+to.branch,
					"have the ruleset let the App, or the account of the token, bypass it; or write record: pull-request for "+to.environment+" into .fairlead/promotion.yaml",
					"unless we may bypass it, %s keeps us from pushing which commit %s has", by, to.environment)
			}
		}
	}
}

// checkGitLabRecords requires one matching protection that lets us push.
func (d *examination) checkGitLabRecords(ctx context.Context, r *repository, level *int) {
	if r.records == nil {
		return
	}
	var all []gitlabProtected
	said, err := r.api.getJSON(ctx, &all, "per_page=100", "projects", r.path, "protected_branches")
	if err != nil || !said.isGood() {
		return
	}
	for _, to := range r.records {
		mine := slices.DeleteFunc(slices.Clone(all), func(p gitlabProtected) bool { return !p.matches(to.branch) })
		if len(mine) > 0 {
			d.addRecord(r, to, slices.ContainsFunc(mine, func(p gitlabProtected) bool { return isAllowed(p.Push, level) }), "the protection of "+mine[0].Name)
		}
	}
}

func (d *examination) checkGiteaRecords(ctx context.Context, r *repository) {
	for _, to := range r.records {
		var is struct {
			Protected bool   `json:"protected"`
			CanPush   *bool  `json:"user_can_push"`
			Rule      string `json:"effective_branch_protection_name"`
		}
		said, err := r.api.getJSON(ctx, &is, "", r.hubPath("branches", to.branch)...)
		if err == nil && said.isGood() && is.Protected && is.CanPush != nil {
			d.addRecord(r, to, *is.CanPush, "the rule "+cmp.Or(is.Rule, "for it"))
		}
	}
}

// checkGitHubActions checks workflows of the control plane, if a gate needs them.
func (d *examination) checkGitHubActions(ctx context.Context, r *repository) {
	if !d.dispatches || giturl.Normalize(r.url) != giturl.Normalize(access.ReadLocation(d.config, d.config.ControlPlane.Repo)) {
		return
	}
	said, err := r.api.getJSON(ctx, nil, "per_page=1", r.hubPath("actions", "workflows")...)
	what := r.redactedURL() + ": workflows"
	switch {
	case err != nil:
		d.addError(Warn, what, err)
	case said.status == http.StatusForbidden || said.status == http.StatusNotFound:
		d.addFailure(what, "give the token, or the App, the permission Actions: read and write; a classic token needs the scope repo",
			"GitHub refuses them, and a gate of kind dispatch runs one: %s", said.message)
	case said.isGood():
		d.addOK(what, "they can be read; to run one, the token needs Actions: write")
	}
}

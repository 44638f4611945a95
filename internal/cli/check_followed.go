package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// checkedFollowed is what environments deploy without a commit of the control plane.
type checkedFollowed struct {
	model.Followed
	Environments []string `json:"environments"`
	Remedy       string   `json:"remedy"`
}

func listFollowed(rendered []source.Rendered) []checkedFollowed {
	var all []checkedFollowed
	places := map[model.Followed]int{}
	for _, r := range rendered {
		for _, f := range r.Followed() {
			i, known := places[f]
			if !known {
				i = len(all)
				places[f] = i
				all = append(all, checkedFollowed{Followed: f, Remedy: remedy(f)})
			}
			all[i].Environments = append(all[i].Environments, r.Environment)
		}
	}
	slices.SortStableFunc(all, func(a, b checkedFollowed) int { return strings.Compare(a.Subject, b.Subject) })
	return all
}

func remedy(f model.Followed) string {
	switch {
	case f.IsRegistration:
		return "fairlead versions adopt has its versions promoted"
	case f.Key == "version":
		return "write one version, as 1.2.3"
	case f.Repo == "" || f.Key != "branch":
		return "write manifests.tag instead"
	}
	return fmt.Sprintf("write manifests.commit or manifests.tag instead; git ls-remote %s prints them", f.Repo)
}

func (r checkReport) followedText(verbose bool) string {
	if r.Promotion == nil || r.Promotion.External || len(r.Promotion.Stages) < 2 || len(r.Followed) == 0 {
		return ""
	}
	subjects := list.Convert(r.Followed, func(f checkedFollowed) string { return f.Subject })
	subjects = slices.Compact(subjects)
	line := fmt.Sprintf("not promoted: what is pushed to the %s, which %s follows", r.Followed[0].What(), subjects[0])
	if more := len(subjects) - 1; more > 0 {
		line = fmt.Sprintf("not promoted: what is pushed to the branches and ranges that %s and %d more follow", subjects[0], more)
	}
	if !verbose {
		return display.SanitizeLine(line+" (-v shows them, and what to write instead)") + "\n"
	}
	var b strings.Builder
	b.WriteString(display.SanitizeLine(line) + "\n")
	for _, f := range r.Followed {
		b.WriteString("  " + display.SanitizeLine(fmt.Sprintf("%s: %s: %s, in %s", f.Pos, f.Subject, f.What(), text.Join(f.Environments, " and "))) + "\n")
		b.WriteString("    hint: " + display.SanitizeLine(f.Remedy) + "\n")
	}
	return b.String()
}

package text

import (
	"fmt"
	"regexp"
	"strings"
)

// The parts of Terraform's and OpenTofu's output.
var (
	planIntroduction = regexp.MustCompile(`(?:Terraform|OpenTofu) used the selected providers to generate`)
	planResource     = regexp.MustCompile(`(?m)^  # (.+)$`)
	planSummary      = regexp.MustCompile(`(?m)^Plan: .*\.$`)
	runnerError      = regexp.MustCompile(`(?s)rpc error: code = .*?\n(Error: .*)`)
)

const maxPlanned = 3

// ShortenTerraform removes Terraform's boilerplate from a message of tofu-controller. It keeps a
// plan's resources and summary, or an error after "Error: ". Other messages are unchanged.
func ShortenTerraform(message string) string {
	if found := runnerError.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	begin := planIntroduction.FindStringIndex(message)
	if begin == nil {
		return message
	}
	before, plan := strings.TrimRight(message[:begin[0]], "\n"), message[begin[0]:]
	var named []string
	for _, found := range planResource.FindAllStringSubmatch(plan, -1) {
		named = append(named, found[1])
	}
	if named == nil {
		return message
	}
	if more := len(named) - maxPlanned; more > 0 {
		named = append(named[:maxPlanned], fmt.Sprintf("and %d more", more))
	}
	short := strings.Join(named, ", ") + ". " + planSummary.FindString(plan)
	if before != "" && !strings.HasSuffix(before, " ") {
		before += " "
	}
	return before + strings.TrimSpace(short)
}

package cli_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stackWishes are what commands of the demo of a stack print; other commands print nothing, and all of
// them end with 0.
var stackWishes = map[string]demoWish{
	"1 fairlead stack list":                          {0, `(?m)^dev +shop/dev +4 +false +1 waits for approval|^dev +shop/dev +4 +false +2 wait for approval`},
	"1 fairlead stack show":                          {0, `(?m)^networking .* auto .* ready( +\S.*)?$\n^cluster +terraform +networking +apply +- +\w+ +waits for approval( +\S.*)?$\n^database +terraform +networking +apply +- +\w+ +waits for approval( +\S.*)?$\n^website .* progressing( +\S.*)?$(?s:.*)^  fairlead approve-plan dev shop/dev/database --inputs [0-9a-f]{16}$`},
	"1 fairlead stack graph":                         {0, `^networking\ncluster after networking\ndatabase after networking\nwebsite after cluster, database\n$`},
	"2 fairlead stack plan":                          {0, `(?s)cluster +terraform +added.*# module\.cluster will be created\n  \+ nodes = "3"\n.*# module\.database will be created\n`},
	"2 fairlead approve-plan dev shop/dev/cluster ":  {0, `approves the plan plan-fairlead-modules-dev-\w{10} of shop/dev/cluster in dev, which is to apply.*\ntofu-controller plans again after the approval and applies that under the same id, drift included`},
	"2 fairlead approve-plan dev shop/dev/database ": {0, `of shop/dev/database in dev, which is to apply`},
	"2 fairlead approve-plan prod ":                  {0, `of shop/queue-prod/queue in prod, which is to apply`},
	"2 fairlead stack show":                          {0, `(?m)^website .* ready( +\S.*)?$`},
	"3 fairlead stack plan":                          {0, `(?s)networking +terraform +- .*# module\.database will be updated in-place\n  ~ size = "small" -> "large"\n\nPlan: 0 to add, 1 to change, 0 to destroy\.\n\nTo approve this plan:\n  fairlead approve-plan dev shop/dev/database --inputs [0-9a-f]{16}\n$`},
	"3 fairlead approve-plan":                        {0, `of shop/dev/database in dev, which is to apply`},
	"3 fairlead stack show":                          {0, `(?m)^database .* plan-fairlead-modules-dev-\w{10} `},
	"4 fairlead stack show":                          {0, `(?m)^cluster .* drifted( +\S.*)?$`},
	"4 fairlead stack list":                          {0, `(?m)^dev +shop/dev +4 +false +ready$`},
	"4 fairlead pr show":                             {0, `(?s)Plan shop/dev/cluster in dev again: it has drifted\n.*somebody has removed a node.*kind: PlanRequest`},
	"4 fairlead pr merge":                            {0, `merged`},
	"4 fairlead approve-plan":                        {0, `of shop/dev/cluster in dev, which is to apply`},
	"5 fairlead diff":                                {4, `autoApprove`},
	"5 fairlead approve-plan prod":                   {0, `of shop/queue-prod/queue in prod, which is to apply`},
	"5 fairlead status":                              {0, `(?m)^prod +\w+ +\S+ +(verified|rolling-out) +0 `},
	"6 fairlead stack graph":                         {0, `(?m)^website \(destroy\)\ncluster \(destroy\) after website\ndatabase \(destroy\) after website\nnetworking \(destroy\) after cluster, database$`},
	"6 fairlead pr view":                             {0, `(?s)REMOVE.*- Destroys: `},
	"6 fairlead pr merge":                            {0, `merged`},
	"6 fairlead approve-plan":                        {0, `in dev, which is to destroy`},
	"6 fairlead stack show":                          {0, `(?m)^networking .* destroy .* destroyed( +\S.*)?$`},
}

// TestDemoStackSteps types what the demo of a stack prints, literally, with a configuration of Git that is
// in the way, and waits where the demo says so. It ends with Ctrl-C.
func TestDemoStackSteps(t *testing.T) {
	t.Parallel()
	d := startDemo(t, hostileGitConfig, "--stack")
	d.wishes = stackWishes
	d.waitFor(regexp.MustCompile(`Ctrl-C ends the demo\.\n`))
	printed := d.text()
	step, offset := "", 0
	for _, c := range parseDemoSteps(printed) {
		if c.step != step {
			step, offset = c.step, len(d.text())
		}
		if c.await != "" {
			offset = d.waitAfter(offset, regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(c.await), " ", `\s+`)))
			continue
		}
		d.typeCommand(c, true)
	}
	if want := len(stackWishes) + 10; len(d.typed) < want {
		t.Errorf("%d commands were typed, fewer than %d, of\n%s", len(d.typed), want, printed)
	}
	for _, approved := range []string{"cluster", "database"} { // nothing but what was approved is applied
		applied := regexp.MustCompile(`(?m)  `+approved+` +is (applied|destroyed)$`).FindAllString(d.text(), -1)
		typed := 0
		for _, c := range d.typed {
			if strings.Contains(c.text, "approve-plan dev shop/dev/"+approved+" ") {
				typed++
			}
		}
		if typed == 0 || len(applied) != typed {
			t.Errorf("%d plans of %s were approved, and %d applied:\n%s", typed, approved, len(applied), d.text())
		}
	}
	d.interrupt()
	d.checkTutorial()
}

// checkTutorial sees that the blocks of text in the tutorial show what the demo has printed and typed, apart
// from what is another in each demo.
func (d *demoProcess) checkTutorial() {
	d.t.Helper()
	content, err := os.ReadFile("../../docs/tutorial/stack.md")
	if err != nil {
		d.t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(string(content), -1)
	if len(blocks) < 5 {
		d.t.Fatalf("the tutorial has %d blocks of text", len(blocks))
	}
	seen := maskDemo(d.text()) + "\n$ fairlead demo --stack\n…\n"
	for _, c := range d.typed {
		seen += "$ " + maskDemo(c.text) + "\n" + maskDemo(c.out)
	}
	lines := strings.Split(seen, "\n")
	for _, block := range blocks {
		for line := range strings.Lines(maskDemo(block[1])) {
			if !slices.Contains(lines, strings.TrimSuffix(line, "\n")) {
				d.t.Errorf("the demo has no line %q", line)
			}
		}
	}
}

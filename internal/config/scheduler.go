package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const (
	defaultSchedulerTimeout = 10 * time.Second
	defaultSchedulerEvery   = 10 * time.Minute
)

// Scheduler decides where the units of policies are. One of URL and Command is set.
type Scheduler struct {
	Name  string     `yaml:"name" required:"name: acme"`
	URL   string     `yaml:"url"`
	Token *SecretRef `yaml:"token"` // of URL; nil to send none
	// Command is a program, as an absolute path, with its arguments.
	Command []string `yaml:"command"`
	// Timeout bounds one answer.
	Timeout time.Duration `yaml:"timeout"`
	// Every bounds how often it is asked for one policy.
	Every time.Duration `yaml:"every"`
}

// Scheduling is what is told of decisions that others make.
type Scheduling struct {
	// Stale is the age from which the decisions of a Placement in Git are a warning; 0 for never.
	Stale time.Duration `yaml:"stale"`
}

// Scheduler returns the scheduler of a name, or false if there is none.
func (s *Settings) Scheduler(name string) (Scheduler, bool) {
	i := slices.IndexFunc(s.Schedulers, func(s Scheduler) bool { return s.Name == name })
	if i < 0 {
		return Scheduler{}, false
	}
	return s.Schedulers[i], true
}

// builtInSchedulers are the names that choices have for what is no scheduler of the settings.
var builtInSchedulers = []string{model.DecidedByFairlead, model.DecidedByOCM}

func (c *checker) checkSchedulers(all []Scheduler) {
	for i := range all {
		s, path := &all[i], fmt.Sprintf("schedulers[%d]", i)
		c.checkSecret(path+".token", s.Token)
		switch err := kubename.Check(s.Name); {
		case !c.isGiven(path+".name") || c.isBroken(path+".name"):
		case err != nil:
			c.addProblem(path+".name", "write one word, as in acme", "%v", err)
		case slices.Contains(builtInSchedulers, s.Name):
			c.addProblem(path+".name", "choose another name", "%s is built in", s.Name)
		case slices.ContainsFunc(all[:i], func(o Scheduler) bool { return o.Name == s.Name }):
			c.addProblem(path+".name", "remove one of them", "another scheduler has this name")
		}
		c.checkSchedulerLocation(path, s)
		if !c.isGiven(path + ".timeout") {
			s.Timeout = defaultSchedulerTimeout
		}
		if !c.isGiven(path + ".every") {
			s.Every = defaultSchedulerEvery
		}
		c.checkLeast(path+".timeout", s.Timeout)
		c.checkLeast(path+".every", s.Every)
	}
}

func (c *checker) checkSchedulerLocation(path string, s *Scheduler) {
	switch {
	case c.isBroken(path+".url") || c.isBroken(path+".command"):
	case (s.URL == "") == (len(s.Command) == 0):
		c.addProblem(path, "write url: https://scheduler.example.com/decide, or command: [/usr/bin/decide]", "needs either url or command")
	case s.URL != "":
		if l, ok := c.parseProbeURL(path+".url", s.URL); ok && s.Token != nil && l.isUnencrypted() {
			c.addWarning(path+".url", "use https", "the token is sent unencrypted")
		}
	case !filepath.IsAbs(s.Command[0]):
		c.addProblem(path+".command", "write the whole path of the program", "%s is not an absolute path", s.Command[0])
	case s.Token != nil:
		c.addProblem(path+".token", "remove it: a command has the environment of Fairlead", "a token goes with url")
	}
}

package config

import "errors"

// WebhookSecrets returns the current secrets of the webhooks of a kind of forge, "github",
// "gitlab" or "gitea", or of "flux"; none if the settings have no such webhook. It fails if
// none of them can be read.
func (s *Settings) WebhookSecrets(forge string) ([]string, error) {
	hook := s.Webhooks.byForge(forge)
	if hook == nil {
		return nil, nil
	}
	return readSecrets(&hook.Secret, hook.Previous)
}

// readSecrets returns the secrets that can be read, in order, and fails if there are some and none can
// be. A reference that is nil is none.
func readSecrets(refs ...*SecretRef) (secrets []string, err error) {
	var failures []error
	for _, ref := range refs {
		if ref == nil {
			continue
		}
		secret, err := ref.Read()
		if err != nil {
			failures = append(failures, err)
			continue
		}
		secrets = append(secrets, secret.Reveal())
	}
	if len(secrets) == 0 {
		return nil, errors.Join(failures...)
	}
	return secrets, nil
}

func (w *Webhooks) byForge(forge string) *Webhook {
	return map[string]*Webhook{"github": w.GitHub, "gitlab": w.GitLab, "gitea": w.Gitea, "flux": w.Flux}[forge]
}

func (c *checker) checkWebhooks(s *Settings) {
	some := false
	for _, forge := range []string{"github", "gitlab", "gitea", "flux"} {
		path, hook := "webhooks."+forge, s.Webhooks.byForge(forge)
		if hook == nil || c.isBroken(path) {
			continue
		}
		some = true
		c.checkSecret(path+".secret", &hook.Secret)
		c.checkSecret(path+".previous", hook.Previous)
	}
	if some && s.Listen == "" && !c.isBroken("listen") {
		c.addWarning("webhooks", "set listen: HOST:PORT, or remove webhooks", "no webhook can arrive, because listen is off")
	}
}

package config

import "errors"

// WebhookSecrets returns the current secrets of "github", "gitlab", "gitea" or "flux" webhooks, or
// nil if not configured. It fails if none is readable.
func (s *Settings) WebhookSecrets(forge string) ([]string, error) {
	hook := s.Webhooks.byForge(forge)
	if hook == nil {
		return nil, nil
	}
	return readSecrets(&hook.Secret, hook.Previous)
}

// readSecrets returns the readable secrets in order. It fails if there are references but none is
// readable.
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

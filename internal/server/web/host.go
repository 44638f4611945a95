package web

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// CheckHost refuses requests for the page and the API that name another host than ours,
// as a browser sends them after DNS rebinding. IP addresses, names that resolve only on
// this machine or in its cluster, and hosts are ours. Health checks, metrics and webhooks
// are exempt: their clients are not browsers and may use any name.
func CheckHost(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOpenPath(r.URL.Path) && !isOurHost(r.Host, hosts) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.WriteHeader(http.StatusMisdirectedRequest)
			_ = json.NewEncoder(w).Encode(errorAnswer{"the page is not reached under this name", "add the name to hosts in the settings"}) // the client has gone
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isOpenPath(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/metrics" || strings.HasPrefix(path, "/webhooks/")
}

// isOurHost reports whether a name, with or without a port, is one of this server.
func isOurHost(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	// No outsider can make these names resolve to an address of their choice.
	inside := !strings.Contains(host, ".") || slices.ContainsFunc([]string{".localhost", ".svc", ".svc.cluster.local"}, func(end string) bool { return strings.HasSuffix(host, end) })
	return host != "" && (inside || slices.ContainsFunc(hosts, func(known string) bool { return strings.EqualFold(known, host) }))
}

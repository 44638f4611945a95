{{- define "fairlead.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "fairlead.fullname" -}}
{{- $name := include "fairlead.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.selector" -}}
app.kubernetes.io/name: {{ include "fairlead.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fairlead.labels" -}}
{{ include "fairlead.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "fairlead.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "fairlead.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* Whether replicas meet by Leases, for which they need their account. */ -}}
{{- define "fairlead.hasLeases" -}}
{{- $replicas := default dict .Values.settings.replicas -}}
{{- if .Values.existingConfigMap -}}
{{- gt (int .Values.replicas) 1 -}}
{{- else -}}
{{- eq "leases" (default "" $replicas.by) -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.secret" -}}
{{- default (include "fairlead.fullname" .) .Values.secret.name -}}
{{- end -}}

{{- define "fairlead.image" -}}
{{- .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- /* The settings, with the names of the Ingress among those that Fairlead answers to. */ -}}
{{- define "fairlead.settings" -}}
{{- $settings := deepCopy .Values.settings -}}
{{- if not (hasSuffix ":8080" (default "" $settings.listen)) -}}
{{- fail "settings.listen is not \":8080\", the port of the container" -}}
{{- end -}}
{{- if ne "/var/lib/fairlead" (default "" $settings.dataDir) -}}
{{- fail "settings.dataDir is not /var/lib/fairlead, where the volume is mounted" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not $settings.replicas) -}}
{{- fail "replicas is more than 1, and settings.replicas does not say how they share the environments: write settings.replicas.by: leases, and ledger.postgres" -}}
{{- end -}}
{{- if and $settings.replicas (not (dig "postgres" "url" "" (default dict $settings.ledger))) -}}
{{- fail "settings.replicas needs settings.ledger.postgres, a ledger that all replicas see" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) .Values.persistence.enabled -}}
{{- fail "persistence.enabled is for one replica: each has a data folder of its own" -}}
{{- end -}}
{{- if .Values.ingress.enabled -}}
{{- $_ := set $settings "hosts" (concat (default list $settings.hosts) .Values.ingress.hosts | uniq) -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

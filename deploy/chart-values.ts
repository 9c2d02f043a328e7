import { Document, isMap, isScalar } from 'yaml';
import type { Pair } from 'yaml';

import { settings } from '#config';
import type { Setting } from '#config';
import type { ChartComponent, ChartModel } from './chart-model.ts';
import { kubernetesYaml } from './compose-secrets.ts';

/** What pods have in addition. The components have the same values under `components.<name>.pod`. */
export const podValues = {
  labels: {},
  annotations: {},
  nodeSelector: {},
  tolerations: [],
  affinity: {},
  priorityClassName: '',
  topologySpreadConstraints: [],
  extraEnv: [],
  extraVolumes: [],
  extraVolumeMounts: [],
};

/** The values of the chart with their defaults. values.yaml and its schema are made from them. */
export function listValues({ components, migrate, servers, settings: names }: ChartModel) {
  return {
    image: {
      repository: 'agent-action-gateway',
      tag: '',
      digest: '',
      pullPolicy: 'IfNotPresent',
    },
    imagePullSecrets: [],
    fullnameOverride: '',
    commonLabels: {},
    commonAnnotations: {},
    secrets: { prefix: '', revision: '' },
    settings: Object.fromEntries(names.map((name) => [name, ''])),
    providerApps: { secret: '', clientIds: {} },
    templatesVolume: {},
    components: Object.fromEntries([
      ...components.map((each) => [each.name, listComponentValues(each)] as const),
      [
        migrate.name,
        { resources: migrate.resources, pod: {}, serviceAccount: { name: '' } },
      ] as const,
    ]),
    pod: podValues,
    podSecurity: { numericUser: true },
    ingress: {
      enabled: false,
      className: '',
      tlsSecret: '',
      annotations: {
        'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
        'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
        'nginx.ingress.kubernetes.io/proxy-send-timeout': '3600',
        'nginx.ingress.kubernetes.io/proxy-body-size': '8m',
        'nginx.ingress.kubernetes.io/proxy-next-upstream': 'error',
      },
    },
    httpRoute: { enabled: false, parentRefs: [], annotations: {}, timeout: '0s' },
    networkPolicy: {
      enabled: true,
      clients: [],
      prometheus: [],
      dns: { ports: [53], to: [] },
      nats: { ports: [4222], to: [] },
      postgres: { ports: [5432], to: [] },
      collector: { ports: [], to: [] },
      internetExcept: { ipv4: [], ipv6: [] },
      privateUpstreams: [],
    },
    monitoring: {
      podMonitor: { enabled: false, labels: {}, interval: '30s' },
      prometheusRule: { enabled: false, labels: {} },
    },
    evaluation: {
      enabled: false,
      ...Object.fromEntries(
        servers.map(({ name, image, resources, storage }) => [
          name,
          { image, resources, storage, storageClassName: '' },
        ]),
      ),
    },
  };
}

/** The values of a Service that is reached from outside. */
const serviceValues = {
  type: 'ClusterIP',
  annotations: {},
  loadBalancerClass: '',
  loadBalancerSourceRanges: [],
  nodePort: 0,
  externalTrafficPolicy: '',
};

function listComponentValues({ replicas, resources, slots, listens }: ChartComponent) {
  return {
    replicas,
    resources,
    autoscaling: {
      enabled: false,
      minReplicas: replicas,
      maxReplicas: 10,
      cpuPercent: 70,
      ...(slots !== '' && { slotsPerPod: 0, slotsMetric: 'aag_slots_used' }),
      behavior: {},
    },
    pod: {},
    serviceAccount: { name: '', annotations: {} },
    ...(listens?.callers.length === 0 && { service: serviceValues }),
  };
}

/**
 * The comments in values.yaml. The key is the path of the value above which the comment is written.
 */
const comments: Readonly<Record<string, string>> = {
  image:
    'The image that deploy/Dockerfile builds. The tag is the version of the chart where it is empty; a digest (sha256:…) goes before.',
  fullnameOverride:
    'What the names of all objects begin with; the name of the release where it is empty.',
  commonLabels:
    'Labels and annotations of all objects, and of their pods. They are in no selector.',
  'secrets.prefix':
    'The Secret of each component has this, a hyphen and the name of the component as its name. The chart makes none: docs/kubernetes.md#secrets.',
  'secrets.revision': 'A new value starts all pods again, so that they read changed Secrets.',
  settings:
    'The settings of the gateway, each with its description. Empty is the default of the program.',
  providerApps:
    'Apps at OAuth providers. clientIds has the id by the key of oauth-providers/ (github: Ov23li…); the Secret has the client secret under the same key.',
  templatesVolume:
    'A volume with the folder of built-in templates, instead of that of the image: {configMap: {name: templates}}.',
  components:
    'How many replicas each component has, and what each may use. A replica opens DATABASE_CONNECTIONS_MAX connections to Postgres and one more. pod has the values of pod below, for this component alone. serviceAccount.name is one of your own, in place of the one that the chart makes with these annotations.',
  'components.gateway.service':
    'The Service that the ingress or clients reach. Without an ingress, a load balancer that has TLS can be in front.',
  'components.gateway.autoscaling.slotsPerPod':
    'Requests under way that a replica should have, where an adapter serves the metric for pods; 0 = by CPU.',
  'components.executor.autoscaling.slotsPerPod':
    'Calls under way that a replica should have, where an adapter serves the metric for pods; 0 = by CPU.',
  pod: 'What all pods have in addition. components.<name>.pod adds to labels, annotations and extra…, and replaces the others.',
  'pod.topologySpreadConstraints':
    'Replaces the spread over nodes and zones. One without a labelSelector counts the pods of the component.',
  'pod.extraEnv':
    'Variables that are no settings of the gateway, in the notation of Kubernetes. Volumes and their mounts too; the servers of an evaluation have none of these.',
  podSecurity:
    'false leaves the numbers of user and group to the cluster, as OpenShift requires it. Elsewhere pods could not read their Secrets then.',
  ingress:
    'The host is that of settings.BASE_URL. Event streams must not be buffered and last long; name the addresses of the controller in settings.TRUSTED_PROXIES.',
  httpRoute:
    'The same for the Gateway API. 0s is no timeout; empty leaves timeouts to the Gateway, for controllers that do not know them.',
  networkPolicy:
    'Each pod reaches what its component needs, and nothing else. Lists under `to`, clients and prometheus are peers; empty ones are every address.',
  'networkPolicy.clients': 'Who may connect to the gateway.',
  'networkPolicy.prometheus': 'Who may read metrics, where monitoring.podMonitor is enabled.',
  'networkPolicy.collector':
    'Where settings.OTEL_EXPORTER_OTLP_ENDPOINT is set. No ports are the port of that URL.',
  'networkPolicy.internetExcept':
    'Networks of the cluster with public addresses. Private, local and metadata addresses are left out already.',
  'networkPolicy.privateUpstreams':
    'Further egress rules of the components that call out, such as for settings.EGRESS_ALLOW or a proxy. Name single upstreams, never the network of the pods.',
  monitoring: 'Objects of the Prometheus operator.',
  evaluation:
    'Single servers of Postgres and NATS, and keys and passwords that the chart makes. Not for data that matters.',
};

/** Writes `values.yaml`. */
export function renderValues(model: ChartModel): string {
  const document = new Document(listValues(model));
  const settingComments = model.settings.map(
    (name) => [`settings.${name}`, (settings[name] as Setting).doc] as const,
  );
  for (const [path, comment] of [...Object.entries(comments), ...settingComments]) {
    const keys = path.split('.');
    const parent = keys.length === 1 ? document.contents : document.getIn(keys.slice(0, -1));
    const pair = isMap(parent)
      ? parent.items.find((each) => isPairOf(each, keys.at(-1)))
      : undefined;
    if (pair === undefined || !isScalar(pair.key)) throw new Error(`There is no value ${path}.`);
    pair.key.commentBefore = ` ${comment}`;
    if (keys.length === 1) pair.key.spaceBefore = true;
  }
  return document.toString({
    lineWidth: 0,
    ...kubernetesYaml,
  });
}

function isPairOf({ key }: Pair, name: string | undefined): boolean {
  return isScalar(key) && key.value === name;
}

import { fileURLToPath } from 'node:url';

import { settings } from '#config';
import type { Setting } from '#config';
import { components } from '#contracts/vocabulary';
import { readChartModel } from './chart-model.ts';
import type { KubeObject } from './helm-checks/kube-object.ts';
import type { Release } from './helm-checks/render-chart.ts';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources: { readonly limits: object; readonly requests: object };
  readonly securityContext: object;
}
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly serviceAccountName: string;
  readonly securityContext: object;
  readonly terminationGracePeriodSeconds: number;
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: {
      readonly secretName: string;
      readonly items?: readonly { readonly key: string; readonly path: string }[];
    };
  }[];
}

/** A release of the chart with these values. Its name is `aag`. */
export const releaseOf = (values: object): Release => ({
  chartFolder: fileURLToPath(new URL('helm', import.meta.url)),
  values: values as Readonly<Record<string, unknown>>,
  releaseName: 'aag',
  namespace: 'actions',
});
/** The pod template of an object; undefined if the object has none. */
export const podOf = ({ spec }: KubeObject) =>
  (
    spec as
      | { template?: { spec: PodSpec; metadata: { labels: object; annotations: object } } }
      | undefined
  )?.template;
/** The containers of an object's pod, including the init containers. */
export const containersOf = (object: KubeObject) => {
  const { containers = [], initContainers = [] } = podOf(object)?.spec ?? {};
  return [...containers, ...initContainers];
};
/** The pods of the components and of the migration, by name. */
export const podsByName = (objects: readonly KubeObject[]) =>
  new Map(
    objects
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .flatMap((object) => podOf(object)?.spec ?? [])
      .map((spec) => [spec.containers[0]?.name ?? '', spec] as const),
  );
/** The environment variables of a pod's first container. */
export const environmentOf = (spec: PodSpec | undefined) =>
  Object.fromEntries((spec?.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));

const model = readChartModel();
/** The values that every installation needs. */
export const minimal = {
  settings: { BASE_URL: 'https://gateway.example.com' },
  secrets: { prefix: 'own' },
};
/** Every setting, with the value of its example. */
export const examples = Object.fromEntries(
  model.settings.map((name) => [name, (settings[name] as Setting).example]),
);
/** Values that use every part of the chart except the evaluation, on OpenShift. */
export const everything = {
  ...minimal,
  fullnameOverride: 'gw',
  image: { digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  settings: { ...examples, SHUTDOWN_PAUSE_SECONDS: 20, OTEL_TRACES_SAMPLER_ARG: 0.25 },
  secrets: { prefix: 'own', revision: '2' },
  providerApps: { secret: 'apps', clientIds: { github: 'ours', stripe: 'theirs' } },
  templatesVolume: { configMap: { name: 'templates' } },
  commonLabels: { 'app.kubernetes.io/part-of': 'agents', team: 'platform' },
  commonAnnotations: { owner: 'platform@example.com', note: 'off' },
  components: {
    gateway: {
      autoscaling: { enabled: true, behavior: { scaleDown: { stabilizationWindowSeconds: 600 } } },
      service: {
        type: 'LoadBalancer',
        annotations: { 'example.com/load-balancer': 'internal' },
        loadBalancerClass: 'example.com/network',
        loadBalancerSourceRanges: ['192.0.2.0/24', '2001:db8::/32'],
        nodePort: 30_080,
        externalTrafficPolicy: 'Local',
      },
    },
    executor: {
      autoscaling: { enabled: true, slotsPerPod: 180 },
      pod: {
        labels: { tier: 'calls', team: 'integrations' },
        annotations: { 'example.com/scan': 'yes' },
        nodeSelector: { pool: 'egress' },
        tolerations: [{ key: 'egress', operator: 'Exists' }],
        affinity: { podAffinity: {} },
        priorityClassName: 'highest',
        topologySpreadConstraints: [
          { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' },
        ],
        extraEnv: [{ name: 'TZ', value: 'Europe/Zurich' }],
        extraVolumes: [{ name: 'scratch', emptyDir: {} }],
        extraVolumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
      },
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/x' } },
    },
    audit: { serviceAccount: { name: 'existing' } },
    migrate: { pod: { nodeSelector: { pool: 'jobs' } }, serviceAccount: { name: 'migrator' } },
  },
  podSecurity: { numericUser: false },
  pod: {
    labels: { team: 'actions' },
    annotations: { note: 'on' },
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'actions', operator: 'Exists' }],
    affinity: { podAntiAffinity: {} },
    priorityClassName: 'high',
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] },
      },
    ],
    extraEnv: [
      { name: 'TZ', value: 'UTC' },
      {
        name: 'OTEL_EXPORTER_OTLP_HEADERS',
        valueFrom: { secretKeyRef: { name: 'collector', key: 'headers' } },
      },
    ],
    extraVolumes: [{ name: 'authorities', configMap: { name: 'authorities' } }],
    extraVolumeMounts: [{ name: 'authorities', mountPath: '/etc/authorities', readOnly: true }],
  },
  ingress: { enabled: true, className: 'nginx', tlsSecret: 'tls' },
  httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
  networkPolicy: {
    clients: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
    prometheus: [{ podSelector: {} }],
    dns: { ports: [53, 5353], to: [{ namespaceSelector: {} }] },
    nats: { to: [{ podSelector: { matchLabels: { app: 'nats' } } }] },
    postgres: { ports: [6432], to: [{ ipBlock: { cidr: '10.1.2.3/32' } }] },
    collector: { to: [{ namespaceSelector: {} }] },
    internetExcept: { ipv4: ['34.0.0.0/8'], ipv6: ['2a00::/16'] },
    privateUpstreams: [{ to: [{ ipBlock: { cidr: '10.9.0.1/32' } }], ports: [{ port: 8443 }] }],
  },
  monitoring: {
    podMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true },
  },
};
export const valueSets: readonly [name: string, values: object][] = [
  ['only the required values', minimal],
  ['every part except the evaluation', everything],
  ['an evaluation', { evaluation: { enabled: true } }],
  ['every setting', { ...minimal, settings: examples }],
  [
    'names that YAML reads as numbers or booleans',
    {
      ...minimal,
      fullnameOverride: 'true',
      secrets: { prefix: '1' },
      providerApps: { secret: '2', clientIds: { github: '0123' } },
      components: {
        gateway: { service: { type: 'LoadBalancer', loadBalancerClass: 'off' } },
        audit: { serviceAccount: { name: '3' } },
        migrate: { serviceAccount: { name: '4' } },
      },
      pod: { priorityClassName: '1e3' },
      ingress: { enabled: true, className: '5', tlsSecret: '6' },
      monitoring: { podMonitor: { enabled: true }, prometheusRule: { enabled: true } },
    },
  ],
  [
    'nothing below names whose defaults are empty',
    {
      ...minimal,
      imagePullSecrets: null,
      commonLabels: null,
      commonAnnotations: null,
      pod: Object.fromEntries(Object.keys(everything.pod).map((name) => [name, null])),
      ingress: { enabled: true, annotations: null },
    },
  ],
  ['network policies turned off', { ...minimal, networkPolicy: { enabled: false } }],
  [
    'one replica of each component',
    {
      ...minimal,
      components: Object.fromEntries(components.map((name) => [name, { replicas: 1 }])),
    },
  ],
];

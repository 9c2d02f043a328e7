import { Document, isMap, isScalar } from 'yaml';
import type { Pair } from 'yaml';
import { z } from 'zod';

import { settings } from '#config';
import type { Setting } from '#config';
import { builtInProviders } from '#providers';
import type { ChartComponent, ChartModel } from './chart-model.ts';
import { kubernetesYaml } from './compose-secrets.ts';

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
    secrets: { prefix: '', revision: '' },
    settings: Object.fromEntries(names.map((name) => [name, ''])),
    providerApps: { secret: '', clientIds: {} },
    templatesVolume: {},
    components: Object.fromEntries([
      ...components.map((each) => [each.name, listComponentValues(each)] as const),
      [migrate.name, { resources: migrate.resources }] as const,
    ]),
    pod: {
      labels: {},
      annotations: {},
      nodeSelector: {},
      tolerations: [],
      affinity: {},
      priorityClassName: '',
    },
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

function listComponentValues({ replicas, resources, slots }: ChartComponent) {
  return {
    replicas,
    resources,
    autoscaling: {
      enabled: false,
      minReplicas: replicas,
      maxReplicas: 10,
      cpuPercent: 70,
      ...(slots !== '' && { slotsPerPod: 0, slotsMetric: 'aag_slots_used' }),
    },
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
    'How many replicas each component has, and what each may use. A replica opens DATABASE_CONNECTIONS_MAX connections to Postgres and one more.',
  'components.gateway.autoscaling.slotsPerPod':
    'Requests under way that a replica should have, where an adapter serves the metric for pods; 0 = by CPU.',
  'components.executor.autoscaling.slotsPerPod':
    'Calls under way that a replica should have, where an adapter serves the metric for pods; 0 = by CPU.',
  pod: 'What all pods have in addition.',
  ingress:
    'The host is that of settings.BASE_URL. Event streams must not be buffered and last long; name the addresses of the controller in settings.TRUSTED_PROXIES.',
  httpRoute: 'The same for the Gateway API. 0s is no timeout.',
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

/**
 * Writes `values.schema.json`. The schema refuses unknown names, and settings that do not have the
 * right form.
 */
export function renderValuesSchema(model: ChartModel): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...schemaOf(listValues(model)),
  };
  Object.assign(schema.properties, {
    // Helm passes this value to every subchart.
    global: { type: 'object' },
    settings: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(model.settings.map((name) => [name, schemaOfSetting(name)])),
    },
  });
  return `${JSON.stringify(schema, null, 2)}\n`;
}

interface ValueSchema {
  readonly [keyword: string]: unknown;
  readonly properties: Record<string, unknown>;
}

/**
 * Schemas of values whose default does not say what they may be, by the name of the value. An
 * operator may add any key to `annotations` and `resources`.
 */
const schemasByName: Readonly<Record<string, object>> = {
  annotations: { type: 'object' },
  resources: { type: 'object' },
  repository: { type: 'string', minLength: 1 },
  revision: { type: ['string', 'integer'] },
  minReplicas: { type: 'integer', minimum: 1 },
  maxReplicas: { type: 'integer', minimum: 1 },
  cpuPercent: { type: 'integer', minimum: 1 },
  clientIds: {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      [...builtInProviders().keys()].map((key) => [key, { type: 'string' }]),
    ),
  },
};

/** A schema for values of the same form as this default. An empty object stands for any object. */
function schemaOf(value: object): ValueSchema {
  const properties = Object.fromEntries(
    Object.entries(value).map(([name, child]) => [
      name,
      schemasByName[name] ?? schemaOfChild(child),
    ]),
  );
  return { type: 'object', additionalProperties: false, properties };
}

function schemaOfChild(value: unknown): object {
  if (Array.isArray(value)) return { type: 'array' };
  if (typeof value === 'number') return { type: 'integer', minimum: 0 };
  if (typeof value !== 'object' || value === null) return { type: typeof value };
  return Object.keys(value).length === 0 ? { type: 'object' } : schemaOf(value);
}

/**
 * What Helm checks of a setting, which may always be empty: words, in lower or upper case; numbers,
 * of which those that are given as text are only checked for their form; and whether a URL begins
 * with http or https.
 */
function schemaOfSetting(name: keyof typeof settings): object {
  const { schema, doc } = settings[name] as Setting;
  const { format, maxLength, ...input } = z.toJSONSchema(schema, { io: 'input' });
  const output = z.toJSONSchema(schema, { unrepresentable: 'any' });
  const pattern = format === 'uri' ? patternOfUrl(name) : input.pattern;
  const words = output.enum?.map(String);
  return {
    description: doc,
    type: output.type === 'number' ? ['string', typeOfNumber(pattern)] : 'string',
    ...(pattern !== undefined && { pattern: `^$|${pattern}` }),
    ...(maxLength !== undefined && { maxLength }),
    ...(output.type === 'number' && { minimum: output.minimum ?? 0, maximum: output.maximum }),
    ...(words && { enum: ['', ...words, ...words.map((word) => word.toUpperCase())] }),
  };
}

/** BASE_URL has no path, and all requests reach the gateway with its host. */
function patternOfUrl(name: keyof typeof settings): string {
  return name === 'BASE_URL' ? '^https?://[^/?#\\s]+/*$' : '^https?://[^/?#\\s]';
}

function typeOfNumber(pattern: string | undefined): string {
  return pattern?.includes('\\.') ? 'number' : 'integer';
}

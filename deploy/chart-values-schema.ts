import { z } from 'zod';

import { settings } from '#config';
import type { Setting } from '#config';
import { builtInProviders } from '#providers';
import type { ChartModel } from './chart-model.ts';
import { listValues, podValues } from './chart-values.ts';

/**
 * Writes `values.schema.json`. The schema refuses unknown names, and values that do not have the
 * right form.
 */
export function renderValuesSchema(model: ChartModel): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    definitions: { pod: schemaOf(podValues) },
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

/** Kubernetes takes only text as the value of a label, an annotation or a label of nodes. */
const texts = { type: 'object', additionalProperties: { type: 'string' } };
/** The name of an object of Kubernetes, such as a Secret. */
const objectName = { type: 'string', pattern: '^$|^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$' };
const objects = listOf({ type: 'object' });
const port = { type: 'integer', minimum: 1, maximum: 65_535 };
const network = { type: 'string', pattern: '^[0-9A-Fa-f:.]+/[0-9]+$' };

/** Schemas of values whose default does not say what they may be, by the name of the value. */
const schemasByName: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    ['labels', 'annotations', 'nodeSelector', 'commonLabels', 'commonAnnotations'].map((name) => [
      name,
      texts,
    ]),
  ),
  ...Object.fromEntries(
    [
      'prefix',
      'secret',
      'name',
      'className',
      'tlsSecret',
      'priorityClassName',
      'storageClassName',
    ].map((name) => [name, objectName]),
  ),
  ...Object.fromEntries(
    [
      'tolerations',
      'topologySpreadConstraints',
      'clients',
      'prometheus',
      'to',
      'privateUpstreams',
    ].map((name) => [name, objects]),
  ),
  imagePullSecrets: listOfNamed(),
  parentRefs: listOfNamed(),
  extraVolumes: listOfNamed(),
  extraVolumeMounts: listOfNamed({ mountPath: { type: 'string' } }),
  extraEnv: listOf({
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' }, value: { type: 'string' } },
  }),
  ports: listOf(port),
  ipv4: listOf(network),
  ipv6: listOf(network),
  loadBalancerSourceRanges: listOf(network),
  // Defined once, because every component has these values.
  pod: { $ref: '#/definitions/pod' },
  type: { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
  externalTrafficPolicy: { enum: ['', 'Cluster', 'Local'] },
  pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
  // An operator may add any key.
  resources: { type: 'object' },
  // The tag and the digest are values of their own.
  repository: { type: 'string', pattern: '^([^\\s/@]+/)*[^\\s/@:]+$' },
  tag: { type: 'string', pattern: '^$|^[A-Za-z0-9_][A-Za-z0-9_.-]*$' },
  digest: { type: 'string', pattern: '^$|^sha256:[0-9a-f]{64}$' },
  revision: { type: ['string', 'integer'] },
  minReplicas: { type: 'integer', minimum: 1 },
  maxReplicas: { type: 'integer', minimum: 1 },
  cpuPercent: { type: 'integer', minimum: 1 },
  interval: { type: 'string', pattern: '^([0-9]+(ms|[smhdwy]))+$' },
  timeout: { type: 'string', pattern: '^$|^([0-9]{1,5}(h|m|s|ms)){1,4}$' },
  clientIds: {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      [...builtInProviders().keys()].map((key) => [key, { type: 'string' }]),
    ),
  },
};

function listOf(items: object): object {
  return { type: 'array', items };
}

function listOfNamed(properties: object = {}): object {
  return listOf({
    type: 'object',
    required: ['name', ...Object.keys(properties)],
    properties: { name: { type: 'string' }, ...properties },
  });
}

/**
 * A schema for values of the same form as this default. An empty object stands for any object.
 *
 * Helm removes a default for which the operator gives null, and YAML reads a name with nothing
 * below it as null. So a default that is not empty is required, except annotations: without
 * `replicas`, a component would have none.
 */
function schemaOf(value: object): ValueSchema {
  const properties = Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      const schema = schemasByName[name] ?? schemaOfChild(child);
      return [name, isFilledList(child) ? { ...schema, minItems: 1 } : schema];
    }),
  );
  const required = Object.entries(value)
    .filter(([name, child]) => schemasByName[name] !== texts && !isEmpty(child))
    .map(([name]) => name);
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    properties,
  };
}

const isFilledList = (value: unknown) => Array.isArray(value) && value.length > 0;

function isEmpty(value: unknown): boolean {
  return value === '' || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);
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

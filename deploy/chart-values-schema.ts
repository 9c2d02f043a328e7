import { z } from 'zod';

import { settings } from '#config';
import type { Setting } from '#config';
import { builtInProviders } from '#providers';
import type { ChartModel } from './chart-model.ts';
import { listValues, podValues } from './chart-values.ts';

/**
 * Writes `values.schema.json`. The schema refuses unknown names, and settings that do not have the
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

/**
 * Schemas of values whose default does not say what they may be, by the name of the value. An
 * operator may add any key to `annotations` and `resources`.
 */
const schemasByName: Readonly<Record<string, object>> = {
  annotations: { type: 'object' },
  // Defined once, because every component has these values.
  pod: { $ref: '#/definitions/pod' },
  type: { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
  externalTrafficPolicy: { enum: ['', 'Cluster', 'Local'] },
  extraEnv: {
    type: 'array',
    items: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, value: { type: 'string' } },
    },
  },
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

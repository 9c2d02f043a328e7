import { partOf } from '../../support/prism.ts';
import type { PublishedDocument } from '../../support/prism.ts';
import type { Operation } from './operations.ts';

type Json = Record<string, unknown>;
/** A template of some operations of an OpenAPI 3.0 document: what calls need of it, in the words of 3.1. */
export function selectOperations(
  document: PublishedDocument,
  selected: readonly Operation[],
): string {
  const paths: Record<string, Json> = {};
  for (const { path, method } of selected) {
    const item = document.paths[path] as Record<string, Json>;
    const operation = item[method] ?? {};
    const { parameters, requestBody } = operation;
    const key = keyOf(operation, { path, method });
    const shared = item['parameters'] === undefined ? {} : { parameters: item['parameters'] };
    paths[path] = {
      ...shared,
      ...paths[path],
      [method]: {
        operationId: key,
        summary: key,
        ...(parameters === undefined ? {} : { parameters }),
        ...(requestBody === undefined ? {} : { requestBody }),
      },
    };
  }
  const { components } = partOf({ ...document, paths }, () => true);
  const { parameters = {}, requestBodies = {}, schemas = {} } = components ?? {};
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Judged', 'x-service-key': 'judged' },
    servers: [{ url: 'https://api.example.com' }],
    paths: upgrade(paths),
    components: upgrade({ parameters, requestBodies, schemas }),
  });
}

function keyOf({ operationId }: Json, { path, method }: Operation): string {
  const name = typeof operationId === 'string' ? operationId : `${method}_${path}`;
  return `op_${name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_')}`.slice(0, 128);
}

/** `nullable` and boolean bounds of OpenAPI 3.0 as JSON Schema has them; examples are left out. */
function upgrade(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(upgrade);
  if (value === null || typeof value !== 'object') return value;
  const { nullable, ...schema } = value as Json;
  const upgraded = Object.fromEntries(
    Object.entries(schema)
      .filter(([key, member]) => !isExtra(key, member))
      .map(([key, member]) => [
        key,
        key === 'enum' || key === 'default' ? member : upgrade(member),
      ]),
  );
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof upgraded[flag] !== 'boolean') continue;
    if (upgraded[flag]) upgraded[flag] = upgraded[bound];
    else delete upgraded[flag];
  }
  if (typeof nullable === 'object') return { ...upgraded, nullable: upgrade(nullable) };
  if (nullable !== true) return upgraded;
  const { type, enum: choices, ...rest } = upgraded;
  if (typeof type !== 'string') return upgraded;
  const all = Array.isArray(choices)
    ? { enum: [...new Set([...(choices as unknown[]), null])] }
    : {};
  return { ...rest, type: [type, 'null'], ...all };
}

/** A property may be called `example` too, and is a schema then. */
function isExtra(key: string, member: unknown): boolean {
  if (key.startsWith('x-')) return true;
  const isSchema = member !== null && typeof member === 'object' && 'type' in member;
  return ['example', 'examples', 'externalDocs'].includes(key) && !isSchema;
}

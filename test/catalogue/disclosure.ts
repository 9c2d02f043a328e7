import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Jq } from 'jq-wasm';

import { renderDescription } from '#templates';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { buildActionRequest } from '../../executor/domain/build-request.ts';
import { isObject } from '../../registry/domain/context.ts';
import { probesOf } from './probes.ts';
import type { Surroundings } from './probes.ts';

type Params = Record<string, JsonValue>;

const ajv = new Ajv2020({ strict: false, validateFormats: false });

interface HiddenPlace {
  readonly at: string;
  /** Two calls that look the same. */
  readonly alike: readonly [one: Params, other: Params];
}

/**
 * The places of an action's arguments at which a value can be sent that nobody sees before allowing
 * it: two calls that differ there, and look the same in the sentence and in every disclosed field.
 * It follows the schema, not an example: free-form objects, list items and alternatives included.
 */
export function hiddenPlaces(
  action: CompiledAction,
  example: Readonly<Record<string, unknown>>,
  jq: Jq,
): HiddenPlace[] {
  const isPossible = ajv.compile(withoutSizes(action.paramsSchema));
  const groups = (['full', 'bare'] satisfies Surroundings[]).flatMap((surroundings) =>
    probesOf({ schema: action.paramsSchema, example, at: '' }, surroundings).map(
      ({ at, values }) => ({
        at,
        calls: distinct(values).filter((value): value is Params => isPossible(value)),
      }),
    ),
  );
  const shown = show(
    action,
    groups.flatMap(({ calls }) => calls),
    jq,
  );
  const hidden = new Map<string, HiddenPlace>();
  const probed = new Set<string>();
  let next = 0;
  for (const { at, calls } of groups) {
    const looks = shown.slice(next, next + calls.length);
    next += calls.length;
    if (calls.length > 1) probed.add(at);
    looks.forEach((look, index) => {
      const one = calls[looks.indexOf(look)];
      const other = calls[index];
      if (one !== undefined && other !== undefined && one !== other)
        hidden.set(at, { at, alike: [one, other] });
    });
  }
  const unreached = groups.filter(({ at }) => !probed.has(at));
  if (unreached.length > 0) {
    throw new Error(`${action.key}: no call reaches ${unreached.map(({ at }) => at).join(', ')}`);
  }
  return [...hidden.values()];
}

/** Calls that differ in the order of their properties are one call. */
function distinct(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [JSON.stringify(value, inOrder), value])).values()];
}

function inOrder(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).toSorted(([one], [other]) => one.localeCompare(other)),
  );
}

/** What the card says of each call: its sentence, and what every filter gives. */
function show(action: CompiledAction, calls: readonly Params[], jq: Jq): string[] {
  const baseUrl = 'https://api.example.com';
  const projections = calls.map(
    (params) =>
      buildActionRequest({ action, params, baseUrl, callDigest: '0'.repeat(64) }).projection,
  );
  const fields = action.disclose.map(({ filter }) => `(try [${filter}] catch "cannot be read")`);
  // One run for all: starting jq costs more than filtering. `null` is shown as nothing.
  const program = `[.[] | [${fields.join(', ')}] | map(if type == "array" then map(select(. != null)) else . end)]`;
  const [disclosed] = jq.json(projections, program) as [unknown[]];
  return calls.map((params, index) =>
    JSON.stringify([renderDescription(action.description, params), disclosed[index]]),
  );
}

/** The schema without what a probe does not keep to: lengths, patterns and bounds. */
function withoutSizes(schema: unknown): Record<string, unknown> {
  return strip(schema) as Record<string, unknown>;
}

const sizes = new Set([
  'pattern',
  'minLength',
  'maxLength',
  'format',
  'propertyNames',
  'minimum',
  'maximum',
]);

function strip(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !sizes.has(keyword))
      .map(([keyword, value]) => {
        if (keyword === 'properties' && isObject(value)) {
          return [
            keyword,
            Object.fromEntries(Object.entries(value).map(([k, v]) => [k, strip(v)])),
          ];
        }
        if (Array.isArray(value) && (keyword === 'anyOf' || keyword === 'oneOf')) {
          return [keyword, value.map(strip)];
        }
        return [
          keyword,
          keyword === 'items' || keyword === 'additionalProperties' ? strip(value) : value,
        ];
      }),
  );
}

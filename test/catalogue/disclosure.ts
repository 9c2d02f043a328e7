import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Jq } from 'jq-wasm';

import { renderDescription } from '#templates';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { buildActionRequest } from '../../executor/request/domain/build-action-request.ts';
import { isObject } from '../../registry/document/domain/context.ts';
import { probesOf } from './probes.ts';
import type { Surroundings } from './probes.ts';

type Params = Record<string, JsonValue>;

const ajv = new Ajv2020({ strict: false, validateFormats: false });

interface HiddenPlace {
  readonly at: string;
  /** Two different calls whose approval cards show the same texts. */
  readonly alikeCalls: readonly [one: Params, other: Params];
}

/**
 * Finds the arguments of an action whose values the approval card does not show. The card does not
 * show an argument if two calls with different values of it have the same sentence and the same
 * disclosed fields. The check tries values from the schema, and not only the example's values. So
 * it covers free-form objects, list items and alternatives too.
 */
export function findHiddenPlaces(
  action: CompiledAction,
  example: Readonly<Record<string, unknown>>,
  jq: Jq,
): HiddenPlace[] {
  const isPossible = ajv.compile(removeSizes(action.paramsSchema));
  const callsByPlace = (['full', 'bare'] satisfies Surroundings[]).flatMap((surroundings) =>
    probesOf({ schema: action.paramsSchema, example, at: '' }, surroundings).map(
      ({ at, values }) => ({
        at,
        calls: removeDuplicates(values).filter((value): value is Params => isPossible(value)),
      }),
    ),
  );
  const shownCards = renderCards(
    action,
    callsByPlace.flatMap(({ calls }) => calls),
    jq,
  );
  const hiddenPlaces = new Map<string, HiddenPlace>();
  const probedPlaces = new Set<string>();
  let nextCardIndex = 0;
  for (const { at, calls } of callsByPlace) {
    const cardTexts = shownCards.slice(nextCardIndex, nextCardIndex + calls.length);
    nextCardIndex += calls.length;
    if (calls.length > 1) probedPlaces.add(at);
    cardTexts.forEach((cardText, index) => {
      const firstCallWithText = calls[cardTexts.indexOf(cardText)];
      const other = calls[index];
      if (firstCallWithText !== undefined && other !== undefined && firstCallWithText !== other)
        hiddenPlaces.set(at, { at, alikeCalls: [firstCallWithText, other] });
    });
  }
  const unreachedPlaces = callsByPlace.filter(({ at }) => !probedPlaces.has(at));
  if (unreachedPlaces.length > 0) {
    throw new Error(
      `${action.key}: no call reaches ${unreachedPlaces.map(({ at }) => at).join(', ')}`,
    );
  }
  return [...hiddenPlaces.values()];
}

/** Removes calls that differ only in the order of their properties. */
function removeDuplicates(values: readonly unknown[]): unknown[] {
  return [
    ...new Map(values.map((value) => [JSON.stringify(value, sortProperties), value])).values(),
  ];
}

function sortProperties(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).toSorted(([left], [right]) => left.localeCompare(right)),
  );
}

/**
 * The text that the approval card shows for each call: the sentence, and the results of all
 * disclose filters.
 */
function renderCards(action: CompiledAction, calls: readonly Params[], jq: Jq): string[] {
  const baseUrl = 'https://api.example.com';
  // How a message is composed does not change what the card shows. It is left out here, because the
  // probed values are no mail addresses.
  const { compose: _compose, ...shown } = action;
  const projections = calls.map(
    (params) =>
      buildActionRequest({ action: shown, params, baseUrl, callDigest: '0'.repeat(64) }).projection,
  );
  const fields = action.disclose.map(({ filter }) => `(try [${filter}] catch "cannot be read")`);
  // One jq process runs all filters on all calls, because starting jq takes longer than filtering.
  // The program omits `null`, as the card does.
  const program = `[.[] | [${fields.join(', ')}] | map(if type == "array" then map(select(. != null)) else . end)]`;
  const [disclosedTexts] = jq.json(projections, program) as [unknown[]];
  return calls.map((params, index) =>
    JSON.stringify([renderDescription(action.description, params), disclosedTexts[index]]),
  );
}

/**
 * Returns the schema without lengths, patterns and bounds, because the probed values do not respect
 * them.
 */
function removeSizes(schema: unknown): Record<string, unknown> {
  return stripSizes(schema) as Record<string, unknown>;
}

const sizeKeywords = new Set([
  'pattern',
  'minLength',
  'maxLength',
  'format',
  'propertyNames',
  'minimum',
  'maximum',
]);

function stripSizes(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !sizeKeywords.has(keyword))
      .map(([keyword, value]) => {
        if (keyword === 'properties' && isObject(value)) {
          return [
            keyword,
            Object.fromEntries(Object.entries(value).map(([k, v]) => [k, stripSizes(v)])),
          ];
        }
        if (Array.isArray(value) && (keyword === 'anyOf' || keyword === 'oneOf')) {
          return [keyword, value.map(stripSizes)];
        }
        return [
          keyword,
          keyword === 'items' || keyword === 'additionalProperties' ? stripSizes(value) : value,
        ];
      }),
  );
}

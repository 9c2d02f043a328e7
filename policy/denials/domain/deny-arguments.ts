import type { CompiledAction, CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { encodePosition } from '#permission-key';
import { scopeOf } from '#templates';
import type { FoundOperation, ScopeOfKey, ScopeSource, ScopeStep } from '#templates';
import { combineArguments } from './combine-arguments.ts';
import type { ReadValue } from './deny-values.ts';
import { hasOnlyMembers, membersOf } from './member-names.ts';
import { readBy } from './sent-request.ts';
import type { SentRequest } from './sent-request.ts';
import { listedValuesMax, valuesAt } from './values-at.ts';

/**
 * Whether the value satisfies the schema of this parameter. False also when checking the value
 * would take too long.
 */
export type FitsParam = (param: CompiledParam, value: JsonValue) => boolean;

interface ArgumentContext {
  readonly request: SentRequest;
  readonly fits: FitsParam;
  readonly readValue: ReadValue;
  /**
   * Whether this is another reading of a path that, exactly as written, already gave the operation.
   * Only some servers read the values of this reading.
   */
  readonly isOtherReading?: boolean;
}

/**
 * The arguments that the operation's permission keys may have. Undefined, which means any argument,
 * when a value is absent, does not satisfy its schema, may be read in too many ways, or stands in a
 * body that has members which the template does not declare. In a key with several positions, a
 * position whose value is unknown may have any value.
 */
export function argumentsOf(
  operation: FoundOperation,
  context: ArgumentContext,
): readonly string[] | undefined {
  const positions = scopeOf(operation.action);
  if (positions.length === 0) return undefined;
  const givenToIt = { ...context, request: readBy(operation.action, context.request) };
  const hasUnknownMembers =
    context.isOtherReading !== true && !isBodyAsDeclared(positions, operation, givenToIt);
  return combineArguments(
    positions.map((each) =>
      hasUnknownMembers && each.sources.some(({ param }) => param.in === 'body')
        ? undefined
        : argumentsAt(each, operation, givenToIt),
    ),
  );
}

/** The values that one position of the keys may have; undefined for any value. */
function argumentsAt(
  { sources, as }: ScopeOfKey,
  operation: FoundOperation,
  context: ArgumentContext,
): readonly string[] | undefined {
  const collectedValues: string[] = [];
  for (const source of sources) {
    const args = argumentsFrom(source, operation, context);
    // One of several parameters may be left out, such as the blind copies of a message.
    if (args === 'absent' && sources.length > 1) continue;
    if (args === undefined || args === 'absent') return undefined;
    collectedValues.push(...args);
  }
  if (collectedValues.length === 0) return undefined;
  return as === 'email'
    ? [...new Set([...collectedValues, ...collectedValues.map(encodePosition)])]
    : [...new Set(collectedValues)];
}

function argumentsFrom(
  { param, steps, leaf }: ScopeSource,
  operation: FoundOperation,
  { request, fits, readValue, isOtherReading = false }: ArgumentContext,
): readonly string[] | 'absent' | undefined {
  const paramValues = valuesOf(param, operation, request);
  const otherParamValues = otherValuesOf(param, operation, request);
  const givenValues = paramValues && valuesAt(paramValues, steps);
  const otherValues = otherParamValues && valuesAt(otherParamValues, steps);
  const flatValues = flatValuesOf(param, steps, { action: operation.action, request });
  if (givenValues === undefined || otherValues === undefined || flatValues === undefined) {
    return undefined;
  }
  if (givenValues.length + otherValues.length + flatValues.length === 0) {
    return isParamVisible(param, request) ? 'absent' : undefined;
  }
  if (givenValues.length === 0) return undefined;
  const values = [
    ...givenValues,
    ...otherValues,
    ...flatValues,
    ...splitAtBlanks(param, givenValues),
  ];
  if (values.length > (steps.length === 0 ? valuesPerParamMax : listedValuesMax)) return undefined;
  const readResults = values.map((value) => readValue(value));
  if (readResults.some(({ args }) => args === undefined)) return undefined;
  const isPossible = readResults
    .slice(0, givenValues.length)
    .every(({ readings }) => readings.some((reading) => fits(leaf, reading)));
  if (!isPossible && !isOtherReading) return undefined;
  const [only, ...others] = readResults.map(({ args }) => args ?? []);
  return others.length === 0 ? (only ?? []) : [...new Set([...(only ?? []), ...others.flat()])];
}

/**
 * Whether the body has only members that the template declares, and satisfies the schemas of the
 * objects in which the positions stand and of texts with a pattern. Anything else may say the same
 * thing in another way: `id` beside the `key` of a project, `update` beside the `fields` of an
 * issue, `mail_settings` beside the recipients, or a script that calls other numbers.
 */
function isBodyAsDeclared(
  positions: readonly ScopeOfKey[],
  operation: FoundOperation,
  { request, fits }: ArgumentContext,
): boolean {
  const { action } = operation;
  const { body } = request;
  // When the body is one parameter, the schema of that parameter says which members it may have.
  if (action.body?.wholeBody !== true && body !== null && typeof body === 'object') {
    const names = action.params.filter((each) => each.in === 'body').map((each) => each.wireName);
    if (!hasOnlyMembers(body, names)) return false;
  }
  const sources = positions.flatMap((each) => each.sources);
  const isToCheck = (param: CompiledParam) => {
    const own = sources.filter((source) => source.param === param);
    // `argumentsFrom` checks a parameter that is itself the value, in every reading.
    return own.length === 0
      ? isTextWithPattern(param)
      : own.some(({ steps }) => steps.some((step) => step !== null));
  };
  return action.params
    .filter((param) => param.in === 'body' && isToCheck(param))
    .every((param) =>
      valuesOf(param, operation, request)?.every((value) => value === null || fits(param, value)),
    );
}

/** Whether the parameter takes only some texts, such as a script that may call nobody else. */
function isTextWithPattern({ schema }: CompiledParam): boolean {
  return typeof schema === 'object' && schema['type'] === 'string' && 'pattern' in schema;
}

/**
 * Whether policy sees that part of the request where the parameter stands. A header, or a body that
 * is a text or a list, may hold values that are not known.
 */
function isParamVisible({ in: location }: CompiledParam, { query, body }: SentRequest): boolean {
  const isPlainBody = body === null || (typeof body === 'object' && !Array.isArray(body));
  return {
    path: true,
    query: query !== undefined && (body === undefined || isPlainBody),
    body: isPlainBody,
    header: false,
  }[location];
}

/**
 * The values of members whose name joins steps with dots, such as `a.b`, because some servers split
 * such a name.
 */
function flatValuesOf(
  { wireName, in: location }: CompiledParam,
  steps: readonly ScopeStep[],
  { action, request: { body } }: { action: CompiledAction; request: SentRequest },
): readonly JsonValue[] | undefined {
  // When the body is one parameter, such a name begins with the first step, and `valuesAt` finds
  // it.
  if (location !== 'body' || action.body?.wholeBody === true) return [];
  const collectedValues: JsonValue[] = [];
  let name = wireName;
  for (const [index, step] of steps.entries()) {
    if (step === null) break;
    name += `.${step}`;
    const members = membersOf(body, name);
    const values = members && valuesAt(members, steps.slice(index + 1));
    if (values === undefined || (members?.length ?? 0) > values.length) return undefined;
    collectedValues.push(...values);
  }
  return collectedValues;
}

/**
 * The most values that one parameter may have in different readings. If there are more, the value
 * counts as unknown.
 */
const valuesPerParamMax = 10;

/**
 * The values of the parameter in that part of the request where its template puts it: path, query
 * or body.
 */
function valuesOf(
  { name, wireName, in: location }: CompiledParam,
  { action, pathValues }: FoundOperation,
  { query, body }: SentRequest,
): readonly JsonValue[] | undefined {
  if (location === 'path') return Object.hasOwn(pathValues, name) ? [pathValues[name] ?? ''] : [];
  if (location === 'query') return membersOf(query, wireName);
  if (location !== 'body') return [];
  if (action.body?.wholeBody !== true) return membersOf(body, wireName);
  return body === undefined || body === null ? [] : [body];
}

/**
 * Further values that only some servers read: with `+` as a blank, from a query split at `;`, or a
 * body parameter from the query and the reverse.
 */
function otherValuesOf(
  { name, wireName, in: location }: CompiledParam,
  { action, pathValues }: FoundOperation,
  { query, otherQuery, body }: SentRequest,
): readonly JsonValue[] | undefined {
  if (location === 'path') {
    const value = Object.hasOwn(pathValues, name) ? pathValues[name] : undefined;
    return value?.includes('+') === true ? [value.replaceAll('+', ' ')] : [];
  }
  if (action.body?.wholeBody === true && location === 'body') return [];
  const membersOfOtherPart = membersOf(location === 'query' ? body : query, wireName);
  const otherMembers = membersOf(otherQuery, wireName);
  return membersOfOtherPart && otherMembers && [...membersOfOtherPart, ...otherMembers];
}

/** Splits the values of a list parameter whose items are separated by blanks (`spaceDelimited`). */
function splitAtBlanks({ style }: CompiledParam, values: readonly JsonValue[]): JsonValue[] {
  if (style !== 'spaceDelimited') return [];
  const items = values.flat().flatMap((each) => (typeof each === 'string' ? each.split(' ') : []));
  return items.length === 0 ? [] : [items];
}

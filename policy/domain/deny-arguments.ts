import type { CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import type { FoundOperation } from '#templates';
import type { Neighbour, SentRequest } from './deny-names.ts';
import { membersOf } from './deny-values.ts';
import type { ReadValue } from './deny-values.ts';

interface Given {
  readonly request: SentRequest;
  readonly fits: Neighbour['fits'];
  readonly readValue: ReadValue;
}

/** Unknown where it is absent, or is no value that the parameter can have. */
export function argumentsOf(
  { action, pathValues }: FoundOperation,
  { request, fits, readValue }: Given,
): readonly string[] | undefined {
  const param = action.params.find((each) => each.name === action.scopeParam);
  if (param === undefined) return undefined;
  const values = valuesOf(param, { action, pathValues, request });
  if (values.length === 0 || values.length > VALUES_MAX) return undefined;
  const read = values.map((value) => readValue(value));
  const isPossible = read.every(
    ({ args, readings }) => args !== undefined && readings.some((reading) => fits(param, reading)),
  );
  if (!isPossible) return undefined;
  const [only, ...others] = read.map(({ args }) => args ?? []);
  return others.length === 0 ? only : [...new Set([...(only ?? []), ...others.flat()])];
}

/** Members of a body that servers may take for one parameter; more than that are unknown. */
const VALUES_MAX = 10;

function valuesOf(
  param: CompiledParam,
  { action, pathValues, request }: FoundOperation & { request: SentRequest },
): readonly JsonValue[] {
  const { name, wireName } = param;
  if (param.in === 'path') return Object.hasOwn(pathValues, name) ? [pathValues[name] ?? ''] : [];
  if (param.in === 'query') return membersOf(request.query, wireName);
  if (param.in !== 'body') return [];
  if (action.body?.wholeBody !== true) return membersOf(request.body, wireName);
  return request.body === undefined || request.body === null ? [] : [request.body];
}

import { LRUCache } from 'lru-cache';

import type { CallFailure, FailureKind } from '#contracts/failure';
import type { CompiledFailure } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { describeFailure } from '../answers/domain/failure.ts';
import type { ShapedAnswer } from '../answers/domain/failure.ts';
import { holdsPlainCondition, parsePlainCondition, valueAt } from '../jq/domain/plain-condition.ts';
import type { PlainCondition } from '../jq/domain/plain-condition.ts';

/** Caches parsed conditions, because every answer of a service is tested with the same ones. */
const parsedConditions = new LRUCache<string, { readonly plain: PlainCondition | undefined }>({
  max: 1_000,
});

interface TemplateFailureQuery {
  readonly rule: CompiledFailure;
  readonly answer: ShapedAnswer;
  /** The body as JSON text; undefined when the body is not JSON or was left out. */
  readonly jsonText: string | undefined;
  /** The user and the identity for which jq runs. */
  readonly owner: string;
  readonly identity: string;
}

/**
 * The failure of an answer with a status below 400, by the rules of the template. Plain conditions
 * are evaluated here, all others by jq on its own threads. A filter that fails finds no failure.
 */
export async function findFailureByTemplate(
  { jq }: Pick<Deps, 'jq'>,
  { rule, answer, jsonText, owner, identity }: TemplateFailureQuery,
): Promise<CallFailure | undefined> {
  if (jsonText === undefined) return undefined;
  const { plain } = parseCached(rule.when);
  const hasFailed =
    plain === undefined
      ? // An owner of its own: with the user as owner it would wait behind the user's own filters.
        isTruthyResult(
          await jq.run({
            filter: rule.when,
            input: jsonText,
            owner: `${owner} failure`,
            identity,
          }),
        )
      : holdsPlainCondition(plain, answer.body) === true;
  if (!hasFailed) return undefined;
  const kind = kindOf(rule, answer.body);
  const isRefused = kind === 'credential_refused' && !answer.hadCredential;
  return withNothingDone(rule, describeFailure(answer, isRefused ? 'forbidden' : kind));
}

/** Adds, for kinds of failure where the template says so, that nothing was done. */
export function withNothingDone(
  rule: CompiledFailure | undefined,
  failure: CallFailure,
): CallFailure {
  return rule?.nothingDone?.includes(failure.kind) === true
    ? { ...failure, nothing_done: true }
    : failure;
}

function parseCached(filter: string): { readonly plain: PlainCondition | undefined } {
  let parsed = parsedConditions.get(filter);
  if (parsed === undefined) {
    parsed = { plain: parsePlainCondition(filter) };
    parsedConditions.set(filter, parsed);
  }
  return parsed;
}

/** Uses jq's notion of truth: every value except false and null is true. */
function isTruthyResult(result: Awaited<ReturnType<Deps['jq']['run']>>): boolean {
  const [output] = result.ok ? result.outputs : [];
  return output !== undefined && output !== 'false' && output !== 'null';
}

function kindOf({ code, kinds = {} }: CompiledFailure, body: JsonValue): FailureKind {
  const failureValue = code === undefined ? undefined : valueAt(code.slice(1).split('.'), body);
  if (typeof failureValue !== 'string' && typeof failureValue !== 'number') return 'failed';
  const text = String(failureValue);
  const match = Object.entries(kinds).find(([, codes]) => codes?.includes(text));
  return (match?.[0] as FailureKind | undefined) ?? 'failed';
}

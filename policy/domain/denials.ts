import type { DerivedKey } from '#contracts/permit';
import type { ChainLink, Risk } from '#contracts/vocabulary';
import type { AppError } from '#errors';
import type { GlobBudget } from '#permission-key';
import { isAtLeast } from './risks.ts';
import { createNameBudget } from './name-budget.ts';
import type { RatedName } from './deny-names.ts';
import type { NameBudget } from './name-budget.ts';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import { invalidParam } from './invalid-call.ts';
import type { Rule, Standing } from './rules.ts';

/** A call as the walk sees it (docs/reference/permissions.md#the-walk). */
export interface WalkedCall {
  readonly keys: readonly DerivedKey[];
  readonly risk: Risk;
  readonly serviceId: string | null;
  readonly credentialIds: readonly string[];
  /** A read of a service that allows reads: needs no rule, where the caller's chain lets it. */
  readonly isOpenRead: boolean;
  /** Further names under which deny rules, and they alone, match. */
  readonly denyNames: readonly RatedName[];
  readonly budget: DecisionBudget;
}

/** What one decision may still take, in all that is asked about a call: comparing it with rules, and finding its names. */
export interface DecisionBudget extends GlobBudget {
  readonly names: NameBudget;
}

export interface Denial {
  readonly rule: Rule;
  /** The key of the call that it matched, or the first one when it matched by another name. */
  readonly key: string;
}

/** Some 15 ms of comparing: hundreds of rules with an argument of usual length take a hundredth of it. */
const stepsMax = 4_000_000;

export function createDecisionBudget(): DecisionBudget {
  return { left: stepsMax, names: createNameBudget() };
}

/**
 * Step 1. Deny wins: on the org or any identity of the chain, whatever the order and specificity.
 * Throws `invalid_params` for a call that takes too long to compare: policy decides for everybody.
 */
export function findDenial(standing: Standing, call: WalkedCall): Denial | undefined {
  const denial = denialWithin(standing, call);
  if (denial === 'unknown') throw tooLong();
  return denial;
}

/** The same without throwing. */
export function denialWithin(standing: Standing, call: WalkedCall): Denial | 'unknown' | undefined {
  const { budget } = call;
  const steps = stepsPerName * (call.keys.length + call.denyNames.length);
  for (const rule of standing.rules) {
    if (rule.effect !== 'deny') continue;
    budget.left -= steps;
    if (budget.left < 0) return 'unknown';
    if (isAtLeastRisk(rule, call.risk)) {
      const key = call.keys.find((each) => deniesKey(rule.pattern, each, budget));
      if (key !== undefined) return { rule, key: key.key };
    }
    const name = call.denyNames.find(
      (each) => isAtLeastRisk(rule, each.risk) && couldDeny(rule.pattern, each, budget),
    );
    if (name !== undefined) return { rule, key: call.keys[0]?.key ?? rule.pattern.text };
  }
  return budget.left < 0 ? 'unknown' : undefined;
}

const stepsPerName = 2;

export function tooLong(): AppError {
  return invalidParam(
    'params',
    'take too long to compare with the rules that hold here; send a shorter argument, or have the rules made fewer or shorter',
  );
}

export function isAtLeastRisk({ riskAtLeast }: Rule, risk: Risk): boolean {
  return riskAtLeast === null || isAtLeast(risk, riskAtLeast);
}

/** The sentence the caller reads as `reason`. */
export function denialReason({ rule, key }: Denial, chain: readonly ChainLink[]): string {
  const owner = chain.find(({ id }) => id === rule.identityId);
  const whose = owner === undefined ? 'the org' : `${owner.kind} ${owner.name}`;
  const text = `A deny rule of ${whose} (${rule.pattern.text}) refuses ${key}.`;
  return text.length > reasonCharactersMax ? `${text.slice(0, reasonCharactersMax - 1)}…` : text;
}

const reasonCharactersMax = 1000;

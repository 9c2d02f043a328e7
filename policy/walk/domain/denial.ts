import type { DerivedKey } from '#contracts/permit';
import type { ChainLink, Risk } from '#contracts/vocabulary';
import type { AppError } from '#errors';
import type { GlobBudget } from '#permission-key';
import { invalidParamError } from '../../calls/domain/invalid-params.ts';
import type { RatedName } from '../../denials/domain/deny-names.ts';
import { couldDeny, deniesKey } from '../../denials/domain/deny-patterns.ts';
import { isAtLeast } from '../../denials/domain/risks.ts';
import type { Rule } from '../../rules/domain/rule.ts';
import type { ChainRules } from './chain-rules.ts';

/** A call in the form that the permission walk takes (docs/reference/permissions.md#the-walk). */
export interface WalkedCall {
  readonly keys: readonly DerivedKey[];
  readonly risk: Risk;
  readonly serviceId: string | null;
  readonly credentialIds: readonly string[];
  /**
   * Whether the call is a read that needs no rule, unless the caller's chain of identities requires
   * one.
   */
  readonly isOpenRead: boolean;
  /** Further names of the call. Only deny rules are compared with them. */
  readonly denyNames: readonly RatedName[];
  /** What is left of the budget for comparing the call with rules. */
  readonly budget: GlobBudget;
}

export interface Denial {
  readonly rule: Rule;
  /**
   * The permission key that the rule matched; the call's first key when the rule matched a further
   * name.
   */
  readonly key: string;
  /**
   * The operation by which the rule matched a call by method and path. Null for a request that no
   * built-in or published template lists. Undefined when the rule matched a permission key or
   * another name.
   */
  readonly operation?: RatedName | null;
}

/**
 * The budget for comparing: about 15 ms. Hundreds of rules with arguments of usual length take a
 * hundredth of it.
 */
const walkStepsMax = 4_000_000;

export function createDecisionBudget(): GlobBudget {
  return { left: walkStepsMax };
}

/**
 * Step 1 of the permission walk: finds a deny rule that refuses the call, on the org or on any
 * identity of the chain. The order of the rules does not matter. Throws `invalid_params` for a call
 * that takes too long to compare, because one slow comparison would delay the calls of everybody
 * else.
 */
export function findDenial(chainRules: ChainRules, call: WalkedCall): Denial | undefined {
  const denial = findDenialOrUnknown(chainRules, call);
  if (denial === 'unknown') throw comparisonTooLongError();
  return denial;
}

/** Finds a denial as `findDenial` does, but returns `unknown` instead of throwing. */
export function findDenialOrUnknown(
  chainRules: ChainRules,
  call: WalkedCall,
): Denial | 'unknown' | undefined {
  const { budget } = call;
  const steps = stepsPerName * (call.keys.length + call.denyNames.length);
  for (const rule of chainRules.rules) {
    if (rule.effect !== 'deny') continue;
    budget.left -= steps;
    if (budget.left < 0) return 'unknown';
    if (appliesToRisk(rule, call.risk)) {
      const key = call.keys.find((each) => deniesKey(rule.pattern, each, budget));
      if (key !== undefined) return { rule, key: key.key };
    }
    const name = call.denyNames.find(
      (each) => appliesToRisk(rule, each.risk) && couldDeny(rule.pattern, each, budget),
    );
    if (name !== undefined) return toDenial(rule, name, call);
  }
  return budget.left < 0 ? 'unknown' : undefined;
}

const stepsPerName = 2;

function toDenial(rule: Rule, name: RatedName, { keys }: WalkedCall): Denial {
  const key = keys[0]?.key ?? rule.pattern.text;
  if (name.action === undefined) return { rule, key, operation: null };
  return name.operation === undefined ? { rule, key } : { rule, key, operation: name };
}

export function comparisonTooLongError(): AppError {
  return invalidParamError(
    'params',
    'take too long to compare with the rules that hold here; send a shorter argument, or have the rules made fewer or shorter',
  );
}

export function appliesToRisk({ riskAtLeast }: Rule, risk: Risk): boolean {
  return riskAtLeast === null || isAtLeast(risk, riskAtLeast);
}

/** The sentence that the caller reads as `reason`. */
export function denialReason(denial: Denial, chain: readonly ChainLink[]): string {
  const { rule, key } = denial;
  const owner = chain.find(({ id }) => id === rule.identityId);
  const ownerText = owner === undefined ? 'the org' : `${owner.kind} ${owner.name}`;
  const ruleText = `A deny rule of ${ownerText} (${rule.pattern.text}) refuses ${key}.`;
  const text = [ruleText, explainOperation(denial)].filter((each) => each !== '').join(' ');
  return text.length > reasonCharactersMax ? `${text.slice(0, reasonCharactersMax - 1)}…` : text;
}

/**
 * Why a rule on a service refuses a call by method and path, and what the caller can do instead.
 */
function explainOperation({ operation }: Denial): string {
  if (operation === undefined) return '';
  if (operation === null) {
    return 'No built-in template and no template that an admin published lists this request, so it may be any operation of the services on its host. Call an action instead.';
  }
  const { service, action } = operation;
  const use =
    operation.operation === 'connected'
      ? `Call the action ${action} of ${service} instead`
      : `Connect ${service} and call its action ${action} instead`;
  return `This request is ${service}:${action}, and its arguments are not compared with rules. ${use}.`;
}

const reasonCharactersMax = 1000;

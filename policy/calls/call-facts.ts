import type { CallTarget, DerivedKey, Injection } from '#contracts/permit';
import type { CompiledAction } from '#contracts/template';
import type { Risk } from '#contracts/vocabulary';
import type { RatedName } from '../denials/domain/deny-names.ts';
import type { SentRequest } from '../denials/domain/request-names.ts';
import type { KeyPosition } from './domain/key-position.ts';

/**
 * The facts about a call that policy has established. The permission walk decides the call by them.
 */
export interface CallFacts {
  readonly target: CallTarget;
  /**
   * The `templateDigest` of the template that the facts come from; null for calls to a full URL
   * (raw calls).
   */
  readonly templateDigest: string | null;
  /** The service's name in the audit log and in approvals. */
  readonly service: string;
  /**
   * The name of the service that people read, such as `GitHub (work)`. Set only for action calls.
   */
  readonly serviceWords?: string;
  /** The action of the template; undefined if the call is not an action call. */
  readonly compiledAction?: CompiledAction;
  readonly template: string | null;
  readonly action: string;
  readonly serviceId: string | null;
  readonly injections: readonly Injection[];
  readonly host: string;
  readonly keys: readonly DerivedKey[];
  /**
   * The label and the kind (`as` in the template) of each position in the argument of the
   * permission keys. Positions are the parts of an argument between slashes. Empty for calls that
   * are not action calls.
   */
  readonly scope: readonly KeyPosition[];
  readonly risk: Risk;
  readonly nonRead: boolean;
  readonly description: string;
  /**
   * Step 3 of the permission walk: whether the call is a read that needs no rule, unless the
   * caller's chain of identities requires one.
   */
  readonly isOpenRead: boolean;
  /** Whether the service lets agents read without a rule. */
  readonly allowsReads: boolean;
  /**
   * The names under which deny rules match the call: the names at its own service, and those that
   * come from its address and its credentials.
   */
  readonly ownNames: () => readonly RatedName[];
  readonly request: SentRequest;
  /**
   * Whether deny rules also match the call as an HTTP request, under the names of all operations on
   * the host that this request could be. These names are looked up only when deny rules exist.
   */
  readonly isJudgedAsRequest: boolean;
}

const descriptionCharactersMax = 2000;

export function cutDescription(text: string): string {
  return text.length > descriptionCharactersMax
    ? `${text.slice(0, descriptionCharactersMax - 1)}…`
    : text;
}

/** Whether the method is GET, HEAD or OPTIONS (docs/reference/permissions.md#risk). */
export function isSafeMethod(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

export function riskOfMethod(method: string): Risk {
  if (isSafeMethod(method)) return 'read';
  return method === 'DELETE' ? 'delete' : 'write';
}

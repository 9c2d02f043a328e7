import type { CallTarget, DerivedKey, Injection } from '#contracts/permit';
import type { Risk } from '#contracts/vocabulary';
import type { RatedName, SentRequest } from '../domain/deny-names.ts';

/** What a call is, before anybody asks whether it is allowed. */
export interface CallFacts {
  readonly target: CallTarget;
  /** `templateDigest` of what the facts were found in; null for raw calls. */
  readonly templateDigest: string | null;
  /** As the audit row and the approval name it. */
  readonly service: string;
  readonly template: string | null;
  readonly action: string;
  readonly serviceId: string | null;
  readonly injections: readonly Injection[];
  readonly host: string;
  readonly keys: readonly DerivedKey[];
  readonly risk: Risk;
  readonly nonRead: boolean;
  readonly description: string;
  /** Step 3 of the walk: a read that needs no rule, where the chain lets it. */
  readonly isOpenRead: boolean;
  /** The service lets agents read without a rule. */
  readonly allowsReads: boolean;
  /** Names of the call itself for deny rules; those of its host's other services are found when needed. */
  readonly ownNames: () => readonly RatedName[];
  readonly request: SentRequest;
}

const descriptionCharactersMax = 2000;

export function cutDescription(text: string): string {
  return text.length > descriptionCharactersMax
    ? `${text.slice(0, descriptionCharactersMax - 1)}…`
    : text;
}

/** GET, HEAD and OPTIONS (docs/reference/permissions.md#risk). */
export function isSafeMethod(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

export function riskOfMethod(method: string): Risk {
  if (isSafeMethod(method)) return 'read';
  return method === 'DELETE' ? 'delete' : 'write';
}

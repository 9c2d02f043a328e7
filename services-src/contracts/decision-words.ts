import type { EventType } from './event-types.ts';

/** What a word does to the approval; several words may do the same. */
export type Move = 'allow' | 'deny' | 'bubble';

/** Whether a field that belongs to a word is required with it. */
type FieldNeed = 'optional' | 'required' | 'required over MCP';

interface DecisionWord {
  readonly move: Move;
  /** What the word means, for agents and in the API document; a phrase. */
  readonly says: string;
  /**
   * How long the rules that the word stores last when no `ttl` is given: for the time that the org
   * has set, or without end. Null: the word stores no rules.
   */
  readonly remembersFor: 'default' | 'forever' | null;
  /**
   * The fields of the request that this word accepts in addition to those that all words accept.
   * Other words refuse them, so that no caller believes in an effect that does not exist.
   */
  readonly takes: Readonly<Record<string, FieldNeed>>;
  /** The events that the decision causes. */
  readonly events: readonly EventType[];
}

/**
 * The words by which an approval is decided over REST and MCP, and what each does
 * (docs/reference/approvals.md#decisions). approvals, the gateway and the dashboard read them from
 * here; approvals/README.md#adding-a-word-for-a-decision lists the other places.
 */
export const decisionWords = {
  allow: {
    move: 'allow',
    says: 'this one call runs',
    remembersFor: null,
    takes: {},
    events: ['approval.resolved'],
  },
  allow_once: {
    move: 'allow',
    says: 'the same as allow',
    remembersFor: null,
    takes: {},
    events: ['approval.resolved'],
  },
  allow_remember: {
    move: 'allow',
    says: 'this call runs, and calls like it are allowed for ttl',
    remembersFor: 'default',
    takes: { remember_keys: 'optional', ttl: 'required over MCP' },
    events: ['approval.resolved', 'approval.remembered'],
  },
  allow_always: {
    move: 'allow',
    says: 'the same as allow_remember, but without an end unless ttl is given; users only',
    remembersFor: 'forever',
    takes: { remember_keys: 'optional', ttl: 'optional' },
    events: ['approval.resolved', 'approval.remembered'],
  },
  deny: {
    move: 'deny',
    says: 'the call does not run, and its caller is told the reason',
    remembersFor: null,
    takes: {},
    events: ['approval.resolved'],
  },
  bubble: {
    move: 'bubble',
    says: 'the next identity above decides',
    remembersFor: null,
    takes: {},
    events: ['approval.bubbled'],
  },
} as const satisfies Record<string, DecisionWord>;

export type DecisionWordName = keyof typeof decisionWords;
export const decisionWordNames = Object.keys(decisionWords) as DecisionWordName[];

type TakenFields = (typeof decisionWords)[DecisionWordName]['takes'];
type KeyOf<T> = T extends unknown ? keyof T : never;
/** A field that only some words take. */
export type FieldOfWords = KeyOf<TakenFields>;
export const fieldsOfWords = [
  ...new Set(decisionWordNames.flatMap((word) => Object.keys(decisionWords[word].takes))),
] as FieldOfWords[];

/** What the word needs of the field; undefined when the field does not go with the word. */
export function fieldNeedOf(word: DecisionWordName, field: FieldOfWords): FieldNeed | undefined {
  const { takes }: DecisionWord = decisionWords[word];
  return takes[field];
}

/**
 * Lists the decision words that accept this field, as text such as `allow_remember or
 * allow_always`. With `need`, lists only the words for which the field has that need.
 */
export function listWordsThatTake(field: FieldOfWords, need?: FieldNeed): string {
  return joinWithOr(
    decisionWordNames.filter((word) => {
      const ownNeed = fieldNeedOf(word, field);
      return ownNeed !== undefined && (need === undefined || ownNeed === need);
    }),
  );
}

/** `a, b or c`. */
export function joinWithOr(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), ...names.slice(-1)]
    .filter((part) => part !== '')
    .join(' or ');
}

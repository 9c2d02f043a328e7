import type { Connection } from '#contracts/http/connections';
import type { TemplateDetail } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';
import { isUsable, waysOf } from './connect-view.ts';
import type { Held } from './held.ts';

/** What a person has entered in the form, without the values of secrets. */
export interface Draft {
  /**
   * `away`: the person is at the provider. `refused`: the person came back without access. `back`:
   * the person is back on the page.
   */
  readonly state: 'away' | 'refused' | 'back';
  /** The account that the person chose, or for whose access the person went to the provider. */
  readonly connectionId: string | null;
  /** When access to this account was last granted before the person went to the provider. */
  readonly grantedAt: string | null;
  /** The tier and version of the template that the person saw. */
  readonly template: string;
  readonly wayAt: number;
  readonly name: string;
  readonly tier: Tier;
  readonly readsAtOnce: boolean;
  readonly variables: Readonly<Record<string, string>>;
  readonly baseUrl: string;
  /** The names of stored secrets, by security scheme. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface TakenDraft extends Draft {
  /** Whether access was granted while the person was at the provider. */
  readonly isGranted: boolean;
  readonly isRefused: boolean;
}

/** A text that identifies a version of a template, including its tier. */
export const templateVersionOf = ({
  tier,
  version,
}: Pick<TemplateDetail, 'tier' | 'version'>): string => `${tier} ${version}`;

const storageKeyOf = (page: string) => `connect ${page}`;

/**
 * Keeps what was entered while the person is at the provider. Only this tab can read the draft, so
 * a link cannot make the page connect anything by itself.
 */
export function keepDraft(page: string, draft: Draft): void {
  sessionStorage.setItem(storageKeyOf(page), JSON.stringify(draft));
}

/**
 * Reads the draft, and stores in it how the person came back. The page continues by itself at most
 * once, and only if access was granted while the person was away.
 */
export function takeDraft(page: string, connections: readonly Connection[]): TakenDraft | null {
  const text = sessionStorage.getItem(storageKeyOf(page));
  if (text === null) return null;
  const draft = JSON.parse(text) as Draft;
  const isGranted = draft.state === 'away' && wasGranted(draft, connections);
  const state = draft.state === 'away' && !isGranted ? 'refused' : draft.state;
  keepDraft(page, { ...draft, state: state === 'away' ? 'back' : state });
  return { ...draft, isGranted, isRefused: state === 'refused' };
}

/** Whether this tab keeps a draft for the page. */
export const hasDraft = (page: string): boolean =>
  sessionStorage.getItem(storageKeyOf(page)) !== null;

export function dropDraft(page: string): void {
  sessionStorage.removeItem(storageKeyOf(page));
}

/**
 * Whether access was granted while the person was away. That the account is connected is no proof:
 * it may have been connected before, and the person may have refused this time.
 */
function wasGranted(draft: Draft, connections: readonly Connection[]): boolean {
  const account = connections.find(({ id }) => id === draft.connectionId);
  if (account === undefined || !isUsable(account)) return false;
  const grantedAt = account.granted_at ?? null;
  return grantedAt !== null && grantedAt !== draft.grantedAt;
}

/** The first values of the variables in the form. */
export function firstVariables(
  template: TemplateDetail,
  { draft, held }: { draft: Draft | null; held: Held },
): Record<string, string> {
  const allVariables = waysOf(template).flatMap(({ address = template }) => address.variables);
  return Object.fromEntries(
    allVariables.map(({ name, default: value }) => [
      name,
      draft?.variables[name] ?? held.variables?.[name] ?? value ?? '',
    ]),
  );
}

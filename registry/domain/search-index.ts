import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { enabledActions } from './present-template.ts';
import { termsOf } from './search-terms.ts';

/** What a search result says of an action; its parameters are read where they are shown. */
export interface IndexedAction {
  readonly key: string;
  readonly summary: string;
  readonly method: HttpMethod;
  readonly risk: Risk;
  /** Words of its key: of two actions that match alike, the one with fewer is meant. */
  readonly keyTerms: number;
}

export type AuthType = 'none' | 'secret' | 'oauth2';

/** The searchable words of one template version. A version never changes, so neither does this. */
export interface VersionIndex {
  readonly title: string;
  readonly description: string;
  readonly authType: AuthType;
  readonly actions: readonly IndexedAction[];
  /** Where each word stands: the position of an action times the number of fields, plus the field. */
  readonly postings: ReadonlyMap<string, readonly number[]>;
  /** The words in order, to find those that begin alike. */
  readonly terms: readonly string[];
}

/** How much a word says about an action by where it stands, the weightiest place first. */
export const fieldWeights = [3, 2, 0.7] as const;
const fields = { key: 0, summary: 1, request: 2 } as const;
/** Actions and parameters that are indexed before others get their turn: about a millisecond. */
const chunk = 200;

/** Indexes one version, letting others run in between: `breathe` resolves when they had their turn. */
export async function indexTemplate(
  template: CompiledTemplate,
  breathe: () => Promise<void>,
): Promise<VersionIndex> {
  const actions: IndexedAction[] = [];
  const postings = new Map<string, number[]>();
  let since = 0;
  for (const action of enabledActions(template)) {
    since += 8 + action.params.length;
    if (since > chunk) {
      since = 0;
      await breathe();
    }
    const base = actions.length * fieldWeights.length;
    for (const [term, field] of fieldsOf(action)) {
      const list = postings.get(term);
      if (list === undefined) postings.set(term, [base + field]);
      else list.push(base + field);
    }
    const { key, summary, method, risk } = action;
    actions.push({ key, summary, method, risk, keyTerms: termsOf(key).length });
  }
  const { title, description } = template;
  const authType = authTypeOf(template);
  const terms = [...postings.keys()].toSorted();
  return { title, description, authType, actions, postings, terms };
}

/** Each word of an action once, with the weightiest field it stands in. */
function fieldsOf(action: CompiledAction): Map<string, number> {
  const found = new Map<string, number>();
  const add = (terms: readonly string[], field: number) => {
    for (const term of terms) found.set(term, Math.min(field, found.get(term) ?? field));
  };
  const keyTerms = termsOf(action.key);
  add([...keyTerms, keyTerms.join('')], fields.key);
  add(termsOf(action.summary), fields.summary);
  add(termsOf(action.path), fields.request);
  for (const param of action.params) add(termsOf(param.name), fields.request);
  return found;
}

/** What the preferred way in takes; several schemes together are OAuth when one of them is. */
function authTypeOf({ auth, security: [preferred = []] }: CompiledTemplate): AuthType {
  if (preferred.length === 0) return 'none';
  const isOAuth = auth.some(({ scheme, type }) => type === 'oauth2' && preferred.includes(scheme));
  return isOAuth ? 'oauth2' : 'secret';
}

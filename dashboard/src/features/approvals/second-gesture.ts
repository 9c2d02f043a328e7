import type { ApprovalResponse } from '#contracts/http/approvals';

type ConfirmableCall = Pick<ApprovalResponse, 'risk' | 'request'>;

/**
 * Whether allowing a call needs a second click. That is so only for a call that cannot be undone,
 * or whose request cannot be shown whole.
 */
export function needsSecondGesture({ risk, request }: ConfirmableCall): boolean {
  return risk === 'high' || isTooLarge(request);
}

export function isTooLarge(request: ApprovalResponse['request']): boolean {
  return request.too_large === true;
}

/**
 * The verbs that a button may repeat. The first word of a sentence may come from an agent, and the
 * button that allows a call must not be labelled "Yes, decline".
 */
const repeatableVerbs = new Set(
  'archive cancel close deactivate delete destroy disable drop empty end erase forget merge move purge remove reset revoke stop void'.split(
    ' ',
  ),
);

/**
 * The label of the button that confirms, such as `Yes, delete`. It repeats the verb of the sentence
 * if the verb is a known one.
 */
export function confirmLabelOf(
  approval: Pick<ApprovalResponse, 'risk' | 'action_description'>,
  isRemembered: boolean,
): string {
  const verb = approval.action_description.split(' ', 1)[0]?.toLowerCase() ?? '';
  const spokenVerb = approval.risk === 'high' && repeatableVerbs.has(verb) ? verb : 'allow it';
  return isRemembered ? `Yes, ${spokenVerb} and remember` : `Yes, ${spokenVerb}`;
}

/** A longer query is shown whole only in the exact request. */
const queryCharactersMax = 200;

export interface QuestionPart {
  readonly text: string;
  /** Whether this part of the sentence is a value of the call. Values are emphasised. */
  readonly isEmphasised: boolean;
}

/**
 * Turns the sentence into a question, and splits it so that the values of the call can be
 * emphasised.
 */
export function splitQuestion(
  approval: Pick<
    ApprovalResponse,
    'service' | 'action' | 'action_description' | 'disclosed' | 'request'
  >,
): QuestionPart[] {
  const sentence = approval.action_description.replace(/[.?!]+$/, '');
  const method = `${approval.action} `;
  if (approval.service === 'http' && sentence.startsWith(method)) {
    // The sentence contains the address without its query. But the query can change what the
    // request does.
    const [, query = ''] = approval.request.url.split('?', 2);
    return [
      { text: method, isEmphasised: false },
      { text: sentence.slice(method.length) + shortQuery(query), isEmphasised: true },
      { text: '?', isEmphasised: false },
    ];
  }
  return [
    ...splitAtValues(sentence, emphasisedValuesOf(approval)),
    { text: '?', isEmphasised: false },
  ];
}

function shortQuery(query: string): string {
  if (query === '') return '';
  return query.length > queryCharactersMax
    ? `?${query.slice(0, queryCharactersMax)}…`
    : `?${query}`;
}

/**
 * The values of the request that may occur in the sentence of the question. Longer values come
 * first, because one value may contain another.
 */
function emphasisedValuesOf({
  disclosed,
  request,
}: Pick<ApprovalResponse, 'disclosed' | 'request'>) {
  const { params } = request;
  const argumentValues = typeof params === 'object' && params !== null ? Object.values(params) : [];
  const emphasisedValues = [
    ...disclosed.map(({ value }) => value),
    ...argumentValues
      .filter((value) => typeof value === 'string' || typeof value === 'number')
      .map((value) => String(value)),
  ];
  return [...new Set(emphasisedValues)]
    .filter((name) => name.length > 1 && name.length <= 200)
    .toSorted((one, other) => other.length - one.length)
    .slice(0, 50);
}

function splitAtValues(sentence: string, emphasisedValues: readonly string[]): QuestionPart[] {
  const [name, ...others] = emphasisedValues;
  if (sentence === '') return [];
  if (name === undefined) return [{ text: sentence, isEmphasised: false }];
  const index = sentence.indexOf(name);
  if (index === -1 || !isWholeWord(sentence, index, name.length))
    return splitAtValues(sentence, others);
  return [
    ...splitAtValues(sentence.slice(0, index), others),
    { text: name, isEmphasised: true },
    ...splitAtValues(sentence.slice(index + name.length), emphasisedValues),
  ];
}

/** Whether the match is a whole word and not part of a longer word. */
function isWholeWord(sentence: string, index: number, length: number): boolean {
  const isPartOfWord = (character: string | undefined) =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  return !isPartOfWord(sentence[index - 1]) && !isPartOfWord(sentence[index + length]);
}

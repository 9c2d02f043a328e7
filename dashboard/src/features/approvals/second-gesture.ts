import type { ApprovalResponse } from '#contracts/http/approvals';

type Asked = Pick<ApprovalResponse, 'risk' | 'request'>;

/** What cannot be undone, and what cannot be read whole, is asked for twice; nothing else is. */
export function needsSecondGesture({ risk, request }: Asked): boolean {
  return risk === 'high' || isTooLarge(request);
}

export function isTooLarge(request: ApprovalResponse['request']): boolean {
  return request.too_large === true;
}

/**
 * The verbs that a button repeats. The first word of a sentence may be an agent's: a button that
 * allows must not say "Yes, decline".
 */
const verbs = new Set(
  'archive cancel close deactivate delete destroy disable drop empty end erase forget merge move purge remove reset revoke stop void'.split(
    ' ',
  ),
);

/** `Yes, delete`: what the second gesture does, in the words of the sentence where they are known. */
export function yesWords(
  approval: Pick<ApprovalResponse, 'risk' | 'action_description'>,
  isRemembered: boolean,
): string {
  const verb = approval.action_description.split(' ', 1)[0]?.toLowerCase() ?? '';
  const does = approval.risk === 'high' && verbs.has(verb) ? verb : 'allow it';
  return isRemembered ? `Yes, ${does} and remember` : `Yes, ${does}`;
}

export interface QuestionPart {
  readonly text: string;
  /** Names what it is done to. */
  readonly isStrong: boolean;
}

/** The sentence as a question, with the values of the call set off from the words around them. */
export function questionParts(
  approval: Pick<
    ApprovalResponse,
    'service' | 'action' | 'action_description' | 'disclosed' | 'request'
  >,
): QuestionPart[] {
  const sentence = approval.action_description.replace(/[.?!]+$/, '');
  const method = `${approval.action} `;
  if (approval.service === 'http' && sentence.startsWith(method)) {
    return [
      { text: method, isStrong: false },
      { text: sentence.slice(method.length), isStrong: true },
      { text: '?', isStrong: false },
    ];
  }
  return [...setOff(sentence, namesOf(approval)), { text: '?', isStrong: false }];
}

/** What may be named in the sentence: longer ones first, since a name may hold another. */
function namesOf({ disclosed, request }: Pick<ApprovalResponse, 'disclosed' | 'request'>) {
  const { params } = request;
  const given = typeof params === 'object' && params !== null ? Object.values(params) : [];
  const names = [
    ...disclosed.map(({ value }) => value),
    ...given
      .filter((value) => typeof value === 'string' || typeof value === 'number')
      .map((value) => String(value)),
  ];
  return [...new Set(names)]
    .filter((name) => name.length > 1 && name.length <= 200)
    .toSorted((one, other) => other.length - one.length)
    .slice(0, 50);
}

function setOff(sentence: string, names: readonly string[]): QuestionPart[] {
  const [name, ...others] = names;
  if (sentence === '') return [];
  if (name === undefined) return [{ text: sentence, isStrong: false }];
  const at = sentence.indexOf(name);
  if (at === -1 || !standsAlone(sentence, at, name.length)) return setOff(sentence, others);
  return [
    ...setOff(sentence.slice(0, at), others),
    { text: name, isStrong: true },
    ...setOff(sentence.slice(at + name.length), names),
  ];
}

/** Not a piece of a longer word. */
function standsAlone(sentence: string, at: number, length: number): boolean {
  const isPartOfWord = (character: string | undefined) =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  return !isPartOfWord(sentence[at - 1]) && !isPartOfWord(sentence[at + length]);
}

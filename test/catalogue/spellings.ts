/**
 * Other ways to write a value of a scope parameter. Some servers understand them as the same thing.
 * A deny rule compares values as they are written, so a template must refuse all spellings but one
 * (docs/writing-templates.md#scope-parameters). Letter case, Unicode normal forms and blanks around
 * a value do not count as other spellings, because a deny rule ignores them.
 */
const waysOfWriting = {
  slashes: (text: string) => [`${text}/`, `/${text}`, ...inPlaceOfSlashes(text, '//')],
  'dot segments': (text: string) => [
    `./${text}`,
    `${text}/.`,
    ...inPlaceOfSlashes(text, '/./'),
    ...inPlaceOfSlashes(text, '/x/../'),
  ],
  backslashes: (text: string) => inPlaceOfSlashes(text, '\\'),
  'percent-encoding': (text: string) => [
    `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`,
    `${text}%20`,
    ...inPlaceOfSlashes(text, '%2F'),
  ],
  'final dot': (text: string) => [`${text}.`],
  'repository suffix': (text: string) => (text.includes('/') ? [`${text}.git`, `${text}.GIT`] : []),
  signs: (text: string) => ['#', '@', '~', '='].map((sign) => sign + text),
  link: (text: string) => [`https://example.com/${text}`, `<${text}>`],
  list: (text: string) => [`${text},${text}`, `${text};${text}`],
  quotes: (text: string) => [`"${text}"`, `'${text}'`, `{${text}}`],
  'invisible characters': (text: string) => [`${text}\u200b`, `\u00ad${text}`, `${text}\0`],
  'full width': (text: string) => [
    String.fromCharCode(text.charCodeAt(0) + 0xfee0) + text.slice(1),
  ],
  padding: (text: string) => [`${text}=`, text.replace(/=+$/, '')],
  number: (text: string) =>
    /^[0-9]+$/.test(text) ? [`0${text}`, `+${text}`, `${text}.0`, `${text}e0`] : [],
  uuid: (text: string) =>
    uuidPattern.test(text) ? [text.replaceAll('-', ''), `urn:uuid:${text}`] : [],
  phone: (text: string) =>
    /^\+[0-9]+$/.test(text)
      ? [text.slice(1), `00${text.slice(1)}`, `+0${text.slice(1)}`, `tel:${text}`].concat(
          [' ', '-', '.', '(0)'].map((sign) => text.slice(0, 3) + sign + text.slice(3)),
        )
      : [],
  address: (text: string) =>
    isMailAddress(text)
      ? [
          `mailto:${text}`,
          text.replace('@', '(office)@'),
          text.replace(/^(.*)@/, '"$1"@'),
          text.replace('@', ' @ '),
          text.replace('@', '%evil.example@'),
        ]
      : [],
} satisfies Record<string, (text: string) => string[]>;

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Ways of writing that turn a mail address into the address of another mailbox (RFC 5322 §3.2.3).
 */
const kindsOfNames: readonly SpellingKind[] = ['slashes', 'dot segments', 'signs'];

export type SpellingKind = keyof typeof waysOfWriting;
export const spellingKinds = Object.keys(waysOfWriting) as [SpellingKind, ...SpellingKind[]];

/** Returns the other spellings of a value, each with its kind. */
export function otherSpellingsOf(text: string): { kind: SpellingKind; text: string }[] {
  const kinds = spellingKinds.filter(
    (kind) => !isMailAddress(text) || !kindsOfNames.includes(kind),
  );
  return kinds.flatMap((kind) =>
    waysOfWriting[kind](text)
      .filter((each) => foldSpelling(each) !== foldSpelling(text))
      .map((each) => ({ kind, text: each })),
  );
}

function isMailAddress(text: string): boolean {
  return /^[^/|@]+@[^@]+\.[a-z]/i.test(text);
}

/**
 * Returns what a deny rule compares: letter case, Unicode normal form and blanks around the value
 * do not count.
 */
function foldSpelling(text: string): string {
  return text.normalize('NFC').toLowerCase().trim();
}

function inPlaceOfSlashes(text: string, replacement: string): string[] {
  return text.includes('/') ? [text.replace('/', replacement)] : [];
}

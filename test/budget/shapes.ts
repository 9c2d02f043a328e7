/**
 * A body, a query or a set of headers within the gateway's limits that should be expensive to
 * handle.
 */
export interface ExpensiveInput {
  readonly what: string;
  readonly body?: string;
  /** Replaces the query of the valid request. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

type LargeValue = readonly [what: string, text: string];

const jsonValuesMax = 49_900;
const listItemsMax = 20_000;
const memberNamesMax = 9_900;

/**
 * Two combining marks. Normalisation sorts such marks, which takes time quadratic in their number.
 */
const combiningMarks = '\u0315\u0300';
/** Normalisation composes these three letters to one syllable. */
const hangulLetters = '\u1100\u1161\u11a8';
/** Compatibility normalisation turns this character into 18 characters. */
const expandingCharacter = '\ufdfa';

/**
 * JSON texts that are as large as possible within the limits on values, list items, member names,
 * nesting and bytes.
 */
function largeValuesWithin(bytesMax: number): LargeValue[] {
  const itemsOf = (item: string, max = listItemsMax) =>
    Array<string>(Math.min(max, Math.floor((bytesMax - 20) / (item.length + 1))))
      .fill(item)
      .join();
  const objectOf = (nameLength: number, value: string, max = memberNamesMax, unit = 'n') => {
    const name = unit.repeat(Math.floor(nameLength / unit.length));
    const length = Buffer.byteLength(name) + value.length + 10;
    const count = Math.min(max, Math.floor(bytesMax / length));
    return `{${Array.from({ length: count }, (_, at) => `"${name}${at}":${value}`).join()}}`;
  };
  const longTextOf = (unit: string) =>
    `"${unit.repeat(Math.floor((bytesMax - 10) / Buffer.byteLength(unit)))}"`;
  const listOfLists = (items: number, within: number) =>
    `[${itemsOf(`[${Array(within).fill('0').join()}]`, items)}]`;
  const nestedLists = `${'['.repeat(55)}${itemsOf('[]', 18_000)}${']'.repeat(55)}`;
  const nestedNames = `{"${'n'.repeat(200)}":`.repeat(9);
  const json = `{"a":[${itemsOf('0', 19_000)}]}`;
  return [
    ['zeros', `[${itemsOf('0')}]`],
    ['empty lists', `[${itemsOf('[]')}]`],
    ['lists of lists', listOfLists(Math.floor(jsonValuesMax / 21), 20)],
    ['short texts', `[${itemsOf('""')}]`],
    ['texts of forty characters', `[${itemsOf(`"${'x'.repeat(40)}"`)}]`],
    ['objects of one name', `[${itemsOf('{"a":0}', 9_000)}]`],
    ['names', objectOf(0, '0')],
    ['long names', objectOf(180, '0', 5_000)],
    ['names of combining marks', objectOf(200, '0', 5_000, combiningMarks)],
    ['names of Hangul letters', objectOf(200, '0', 5_000, hangulLetters)],
    ['names of expanding characters', objectOf(200, '0', 5_000, expandingCharacter)],
    ['one name of combining marks', `{${longTextOf(combiningMarks)}:0}`],
    ['a list under nested long names', `${nestedNames}[${itemsOf('""')}]${'}'.repeat(9)}`],
    ['nested long names', `${nestedNames}${objectOf(180, '0', 5_000)}${'}'.repeat(9)}`],
    ['names of texts', objectOf(0, '"v"')],
    ['names of texts that begin alike', objectOf(80, '"v"')],
    ['190 names of long texts', objectOf(100, `"${'v'.repeat(Math.floor(bytesMax / 210))}"`, 190)],
    ['900 names of texts', objectOf(40, `"${'v'.repeat(Math.floor(bytesMax / 1_000))}"`, 900)],
    ['a name of texts', `{"name":[${itemsOf(`"${'%'.repeat(900)}"`, 900)}]}`],
    ['levels', nestedLists.length < bytesMax ? nestedLists : '[[[]]]'],
    ['a long text', longTextOf('x')],
    ['a long text of escapes', longTextOf('\\"')],
    ['a long text of invisible characters', longTextOf('\\u202e')],
    ['a long text of combining marks', longTextOf(combiningMarks)],
    ['a long text of Hangul letters', longTextOf(hangulLetters)],
    ['a long text of expanding characters', longTextOf(expandingCharacter)],
    ['a long text of paths', longTextOf('/a')],
    ['a long text of dots', longTextOf('/..')],
    ['a long text of percent signs', longTextOf('%25')],
    ['a long text of JSON', JSON.stringify(json).length < bytesMax ? JSON.stringify(json) : '"[]"'],
    ['a long number', '9'.repeat(Math.min(300_000, bytesMax - 10))],
  ];
}

/** Large values that match the schema of a property, by the property's name. */
export type FittingValues = Readonly<Record<string, readonly LargeValue[]>>;

export interface BodySpec {
  readonly valid: Readonly<Record<string, unknown>>;
  readonly properties: readonly string[];
  readonly bytesMax: number;
  /**
   * The text before and after the generated body. Set only if the body is a member of a larger
   * body.
   */
  readonly around?: readonly [before: string, behind: string];
  readonly fitting?: FittingValues;
}

/**
 * Generates one body for each property and each large value: the large value replaces the
 * property's valid value. One more property, which is unknown, gets each large value too.
 */
export function* bodiesOf({
  valid,
  properties,
  bytesMax,
  around,
  fitting,
}: BodySpec): Iterable<ExpensiveInput> {
  const [before, behind] = around ?? ['', ''];
  const values = largeValuesWithin(bytesMax - JSON.stringify(valid).length - before.length - 200);
  for (const property of [...properties, 'unknown_name']) {
    const { [property]: _replaced, ...rest } = valid;
    const others = JSON.stringify(rest).slice(1, -1);
    for (const [what, value] of [...values, ...(fitting?.[property] ?? [])]) {
      const members = `${others}${others === '' ? '' : ','}${JSON.stringify(property)}:${value}`;
      yield { what: `${what} as ${property}`, body: `${before}{${members}}${behind}` };
    }
  }
}

/** Generates forms or queries with long values, many values, repeated names and nested names. */
export function* parameterInputsOf(
  names: readonly string[],
  charactersMax: number,
): Iterable<[string, string]> {
  const fillWith = (unit: string) => unit.repeat(Math.floor(charactersMax / unit.length));
  for (const name of [...names, 'unknown_name']) {
    const charactersLeft = charactersMax - name.length - 1;
    yield [`a long ${name}`, `${name}=${'x'.repeat(charactersLeft)}`];
    yield [`a ${name} of percent signs`, `${name}=${'%25'.repeat(Math.floor(charactersLeft / 3))}`];
    yield [`a ${name} of broken escapes`, `${name}=${'%'.repeat(charactersLeft)}`];
    yield [`a ${name} of blanks`, `${name}=${'+'.repeat(charactersLeft)}`];
    yield [`${name} many times`, fillWith(`&${name}=a`)];
  }
  yield ['separators', fillWith('&')];
  yield ['equals signs', fillWith('=')];
  yield ['names within names', `${fillWith('a[b]')}=1`];
  const manyParameters = Array.from({ length: Math.floor(charactersMax / 6) }, (_, at) => `${at}=`);
  yield ['many names', manyParameters.join('&').slice(0, charactersMax)];
}

/** Headers of nearly 16 KiB, which is the limit of Node's HTTP server. */
export const hostileHeaders: readonly ExpensiveInput[] = [
  { what: 'many headers', headers: manyParameters(1_200, (at) => [`x-${at}`, '1']) },
  { what: 'one header many times', headers: { 'x-a': Array<string>(1_200).fill('1') } },
  { what: 'many cookies', headers: { cookie: createManyCookies() } },
  { what: 'a long accept', headers: { accept: 'a/b,'.repeat(3_000) } },
  { what: 'a long prefer', headers: { prefer: 'wait=0,'.repeat(1_800) } },
  { what: 'a long traceparent', headers: { traceparent: '0-'.repeat(6_000) } },
  { what: 'a long tracestate', headers: { tracestate: 'a=b,'.repeat(3_000) } },
  { what: 'a long baggage', headers: { baggage: 'a=b,'.repeat(3_000) } },
  { what: 'a long forwarding', headers: { 'x-forwarded-for': '1.1.1.1,'.repeat(1_500) } },
];

function manyParameters(
  count: number,
  of: (at: number) => [string, string],
): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => of(at)));
}

function createManyCookies(): string {
  return Array.from({ length: 2_000 }, (_, at) => `a${at}=`)
    .join('; ')
    .slice(0, 14_000);
}

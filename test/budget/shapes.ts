/** A body, query or set of headers made to cost much, within what the edge lets through. */
export interface Shape {
  readonly what: string;
  readonly body?: string;
  /** Instead of the entry point's own. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

type Value = readonly [what: string, text: string];

const valuesMax = 49_900;
const itemsMax = 20_000;
const namesMax = 9_900;

/** JSON texts near each of the caps on values, names, items, depth and bytes, whichever comes first. */
function valuesWithin(bytesMax: number): Value[] {
  const list = (item: string, max = itemsMax) =>
    Array<string>(Math.min(max, Math.floor((bytesMax - 20) / (item.length + 1))))
      .fill(item)
      .join();
  const names = (nameLength: number, value: string, max = namesMax) => {
    const length = nameLength + value.length + 10;
    const count = Math.min(max, Math.floor(bytesMax / length));
    const name = 'n'.repeat(nameLength);
    return `{${Array.from({ length: count }, (_, at) => `"${name}${at}":${value}`).join()}}`;
  };
  const text = (unit: string) => `"${unit.repeat(Math.floor((bytesMax - 10) / unit.length))}"`;
  const lists = (items: number, within: number) =>
    `[${list(`[${Array(within).fill('0').join()}]`, items)}]`;
  const nested = `${'['.repeat(55)}${list('[]', 18_000)}${']'.repeat(55)}`;
  const json = `{"a":[${list('0', 19_000)}]}`;
  return [
    ['zeros', `[${list('0')}]`],
    ['empty lists', `[${list('[]')}]`],
    ['lists of lists', lists(Math.floor(valuesMax / 21), 20)],
    ['short texts', `[${list('""')}]`],
    ['texts of forty characters', `[${list(`"${'x'.repeat(40)}"`)}]`],
    ['objects of one name', `[${list('{"a":0}', 9_000)}]`],
    ['names', names(0, '0')],
    ['long names', names(180, '0', 5_000)],
    ['names of texts', names(0, '"v"')],
    ['names of texts that begin alike', names(80, '"v"')],
    ['190 names of long texts', names(100, `"${'v'.repeat(Math.floor(bytesMax / 210))}"`, 190)],
    ['900 names of texts', names(40, `"${'v'.repeat(Math.floor(bytesMax / 1_000))}"`, 900)],
    ['a name of texts', `{"name":[${list(`"${'%'.repeat(900)}"`, 900)}]}`],
    ['levels', nested.length < bytesMax ? nested : '[[[]]]'],
    ['a long text', text('x')],
    ['a long text of escapes', text('\\"')],
    ['a long text of invisible characters', text('\\u202e')],
    ['a long text of paths', text('/a')],
    ['a long text of dots', text('/..')],
    ['a long text of percent signs', text('%25')],
    ['a long text of JSON', JSON.stringify(json).length < bytesMax ? JSON.stringify(json) : '"[]"'],
    ['a long number', '9'.repeat(Math.min(300_000, bytesMax - 10))],
  ];
}

/** What a schema says of one place of a body, so that what is sent there fits it. */
export type Fitting = Readonly<Record<string, readonly Value[]>>;

export interface Body {
  readonly valid: Readonly<Record<string, unknown>>;
  readonly properties: readonly string[];
  readonly bytesMax: number;
  /** What stands before and behind, where the body is part of a larger one. */
  readonly around?: readonly [before: string, behind: string];
  readonly fitting?: Fitting;
}

/** A body for each value, in the place of each property and under a name that nobody knows. */
export function* bodiesOf({ valid, properties, bytesMax, around, fitting }: Body): Iterable<Shape> {
  const [before, behind] = around ?? ['', ''];
  const values = valuesWithin(bytesMax - JSON.stringify(valid).length - before.length - 200);
  for (const property of [...properties, 'unknown_name']) {
    const { [property]: _replaced, ...rest } = valid;
    const others = JSON.stringify(rest).slice(1, -1);
    for (const [what, value] of [...values, ...(fitting?.[property] ?? [])]) {
      const members = `${others}${others === '' ? '' : ','}${JSON.stringify(property)}:${value}`;
      yield { what: `${what} as ${property}`, body: `${before}{${members}}${behind}` };
    }
  }
}

/** What forms and queries are made of: long values, many of them, one name often, names within names. */
export function* pairsOf(
  names: readonly string[],
  charactersMax: number,
): Iterable<[string, string]> {
  const filled = (unit: string) => unit.repeat(Math.floor(charactersMax / unit.length));
  for (const name of [...names, 'unknown_name']) {
    const left = charactersMax - name.length - 1;
    yield [`a long ${name}`, `${name}=${'x'.repeat(left)}`];
    yield [`a ${name} of percent signs`, `${name}=${'%25'.repeat(Math.floor(left / 3))}`];
    yield [`a ${name} of broken escapes`, `${name}=${'%'.repeat(left)}`];
    yield [`a ${name} of blanks`, `${name}=${'+'.repeat(left)}`];
    yield [`${name} many times`, filled(`&${name}=a`)];
  }
  yield ['separators', filled('&')];
  yield ['equals signs', filled('=')];
  yield ['names within names', `${filled('a[b]')}=1`];
  const many = Array.from({ length: Math.floor(charactersMax / 6) }, (_, at) => `${at}=`);
  yield ['many names', many.join('&').slice(0, charactersMax)];
}

/** Headers up to what the server reads at all: 16 KiB. */
export const hostileHeaders: readonly Shape[] = [
  { what: 'many headers', headers: many(1_200, (at) => [`x-${at}`, '1']) },
  { what: 'one header many times', headers: { 'x-a': Array<string>(1_200).fill('1') } },
  { what: 'many cookies', headers: { cookie: manyCookies() } },
  { what: 'a long accept', headers: { accept: 'a/b,'.repeat(3_000) } },
  { what: 'a long prefer', headers: { prefer: 'wait=0,'.repeat(1_800) } },
  { what: 'a long traceparent', headers: { traceparent: '0-'.repeat(6_000) } },
  { what: 'a long tracestate', headers: { tracestate: 'a=b,'.repeat(3_000) } },
  { what: 'a long baggage', headers: { baggage: 'a=b,'.repeat(3_000) } },
  { what: 'a long forwarding', headers: { 'x-forwarded-for': '1.1.1.1,'.repeat(1_500) } },
];

function many(count: number, of: (at: number) => [string, string]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => of(at)));
}

function manyCookies(): string {
  return Array.from({ length: 2_000 }, (_, at) => `a${at}=`)
    .join('; ')
    .slice(0, 14_000);
}

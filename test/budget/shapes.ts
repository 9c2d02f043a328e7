/** A body made to cost much, within what the edge lets through. */
export interface Shape {
  readonly what: string;
  readonly text: string;
}

/** Bytes of a body, with room for what stands around a value. */
const charactersMax = 1_000_000;
const fill = (count: number, item: string) => Array<string>(count).fill(item).join();
const names = (count: number, length = 0, value = '0') =>
  `{${Array.from({ length: count }, (_, index) => `"${'n'.repeat(length)}${index}":${value}`).join()}}`;
const text = (unit: string) => `"${unit.repeat(Math.floor(charactersMax / unit.length))}"`;

/** JSON texts near each of the caps on values, names, items, depth and bytes. */
const values: readonly (readonly [what: string, text: string])[] = [
  ['zeros', `[${fill(20_000, '0')}]`],
  ['empty lists', `[${fill(20_000, '[]')}]`],
  ['lists of lists', `[${fill(2_400, `[${fill(20, '0')}]`)}]`],
  ['short texts', `[${fill(20_000, '""')}]`],
  ['texts of forty characters', `[${fill(20_000, `"${'x'.repeat(40)}"`)}]`],
  ['objects of one name', `[${fill(9_000, '{"a":0}')}]`],
  ['names', names(9_900)],
  ['long names', names(5_000, 180)],
  ['names of texts', names(9_900, 0, '"v"')],
  ['names of texts that begin alike', names(9_900, 80, '"v"')],
  ['levels', `${'['.repeat(55)}${fill(18_000, '[]')}${']'.repeat(55)}`],
  ['a long text', text('x')],
  ['a long text of escapes', text('\\"')],
  ['a long text of invisible characters', text('\\u202e')],
  ['a long text of paths', text('/a')],
  ['a long text of percent signs', text('%25')],
  [
    'a long text of JSON',
    JSON.stringify(`{"a":[${fill(19_000, '0')}],"b":[${fill(19_000, '0')}]}`),
  ],
  ['a long number', '9'.repeat(300_000)],
];

/** A body for each value, in the place of each property and under a name that nobody knows. */
export function shapesOf(
  valid: Readonly<Record<string, unknown>>,
  properties: readonly string[],
): Shape[] {
  return [...properties, 'unknown_name'].flatMap((property) =>
    values.map(([what, value]) => {
      const { [property]: _replaced, ...rest } = valid;
      const others = JSON.stringify(rest).slice(1, -1);
      return {
        what: `${what} as ${property}`,
        text: `{${others}${others === '' ? '' : ','}${JSON.stringify(property)}:${value}}`,
      };
    }),
  );
}

import { createRandom } from '../../test/e2e/kill/random.ts';

/** Programs that never end, or that grow until a limit stops them. */
const hostileCores = [
  'def f: f; f',
  'def f: [f]; f',
  'def f: f | f; f',
  'def f(g): f(f(g)); f(1)',
  'range(1e12)',
  '[range(1e12)]',
  'last(range(1e12))',
  'repeat("x")',
  '[repeat(1)]',
  'until(false; .)',
  'while(true; .)',
  'recurse(.; true)',
  '[recurse([.])]',
  'reduce range(64) as $i ("x"; . + .)',
  'reduce range(1e9) as $i (.; [.])',
  'foreach range(1e12) as $i (0; . + 1)',
  '"x" * 1e9',
  '[limit(1e9; repeat("x"))]',
  '[range(60)] | [combinations]',
  '("a" * 40 + "b") | test("^(a|a)*$")',
  '"a" * 5000 | test("(.*)*(.*)*(.*)*x")',
  '"ab" * 100000 | [scan("(?=.*a)")]',
  'setpath([1e9]; 1)',
  'tojson | until(false; tojson + tojson)',
  '[range(1e6)] | sort_by(-.) | group_by(.) | map(add)',
  '[range(3e5) | tostring] | unique | join(",") * 100',
];
/** Programs that contain a hostile core in various positions. */
const filterFrames = [
  '#',
  '[#]',
  '(#) as $x | $x',
  'try (#) catch "caught"',
  'try error(#) catch .',
  '[.[]? | #]',
  'first(#), (#)',
  '[limit(1e12; #)]',
  '{a: [#]} | tojson | fromjson',
  'reduce (#) as $x (0; . + 1)',
  'label $out | foreach (#) as $x (0; . + 1; if . > 1e12 then ., break $out else empty end)',
  '. as [$a] ?// $a | #',
  '(#) // (#)',
  'if (#) then (#) else (#) end',
  'def g: #; g, g',
  '[#] | length',
  'path(..) | #',
  '@sh "\\(#)"',
  'input?, (#)',
  'debug | stderr | (#)',
];

/**
 * Generates different hostile filters: a core inside one or two frames. One seed always gives the
 * same filters.
 */
export function generateHostileFilters(count: number, seed: number): string[] {
  const random = createRandom(seed);
  const pickOne = (choices: readonly string[]) =>
    choices[Math.floor(random() * choices.length)] ?? '';
  const filters = new Set<string>();
  while (filters.size < count) {
    const framedCore = pickOne(filterFrames).replaceAll('#', pickOne(hostileCores));
    filters.add(random() < 0.5 ? framedCore : pickOne(filterFrames).replaceAll('#', framedCore));
  }
  return [...filters];
}

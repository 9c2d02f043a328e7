import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';

import { hostileFilters } from './hostile.testing.ts';
import { createJqPool } from './pool.ts';
import type { JqPool, JqResult } from './pool.ts';

const pool = createJqPool();
afterAll(() => pool[Symbol.asyncDispose]());

const run = (filter: string, input = 'null', on: JqPool = pool) => on.run({ filter, input });

const user = '{"id":12345678901234567890,"name":"Ann é😀","tags":["a","b"],"n":1.50}';

describe('a filter', () => {
  it.each<[string, string, string[]]>([
    ['.', user, ['{"id":12345678901234567890,"name":"Ann é😀","tags":["a","b"],"n":1.50}']],
    ['.id', user, ['12345678901234567890']],
    ['.name', user, ['"Ann é😀"']],
    ['.tags[]', user, ['"a"', '"b"']],
    ['.missing', user, ['null']],
    ['empty', user, []],
    ['.tags | length', user, ['2']],
    ['{name, first: .tags[0]}', user, ['{"name":"Ann é😀","first":"a"}']],
    ['map(select(.x > 1))', '[{"x":1},{"x":2}]', ['[{"x":2}]']],
    ['group_by(.k) | map(length)', '[{"k":1},{"k":2},{"k":1}]', ['[2,1]']],
    ['to_entries | map(.key)', '{"b":1,"a":2}', ['["b","a"]']],
    ['[paths]', '{"a":[1]}', ['[["a"],["a",0]]']],
    ['del(.a)', '{"a":1,"b":2}', ['{"b":2}']],
    ['.[] |= . + 1', '[1,2]', ['[2,3]']],
    ['test("^a+$")', '"aaa"', ['true']],
    ['[scan("[0-9]+")]', '"a1b22"', ['["1","22"]']],
    ['"\\(.a)-\\(.b)"', '{"a":1,"b":"x"}', ['"1-x"']],
    ['@base64', '"hi"', ['"aGk="']],
    ['@csv', '[1,"a\\"b"]', ['"1,\\"a\\"\\"b\\""']],
    ['try error("x") catch .', 'null', ['"x"']],
    ['reduce .[] as $x (0; . + $x)', '[1,2,3]', ['6']],
    ['[limit(3; repeat(1))]', 'null', ['[1,1,1]']],
    ['"a\\nb\\u0000"', 'null', ['"a\\nb\\u0000"']],
    ['def f($n): if $n == 0 then 1 else $n * f($n - 1) end; f(10)', 'null', ['3628800']],
    ['getpath(["a","b"])', '{"a":{"b":3}}', ['3']],
  ])('%s of %s', async (filter, input, outputs) => {
    expect(await run(filter, input)).toEqual({ ok: true, outputs });
  });

  it.each(
    [
      ['.a[', 'syntax'],
      ['nope', 'syntax'],
      ['$x', 'syntax'],
      ['', 'syntax'],
      ['.a\0| env', 'syntax'],
      ['"\ud83d"', 'syntax'],
      [`"${'a'.repeat(17_000)}"`, 'syntax'],
      ['.a.b', 'runtime'],
      ['error("mine")', 'runtime'],
      ['tonumber', 'runtime'],
    ].map((row) => [row[0]!.slice(0, 40), ...row] as const),
  )('%j is refused or fails', async (_name, filter, reason) => {
    expect(await run(filter, '{"a":"text"}')).toMatchObject({ ok: false, reason });
  });

  it('says what is wrong with it, in jq’s words and not at any length', async () => {
    expect(await run('.a[')).toMatchObject({
      message: expect.stringMatching(
        /^syntax error, unexpected end of file at <top-level>, line 1/,
      ),
    });
    const long = await run('error("x" * 100000)');
    expect(long).toMatchObject({ reason: 'runtime', message: 'x'.repeat(500) });
  });

  it('of an input that is not JSON fails', async () => {
    expect(await run('.', 'not json')).toMatchObject({ ok: false, reason: 'runtime' });
  });

  it('is compiled by checkSyntax, but not run', async () => {
    expect(await pool.checkSyntax('error("x")')).toEqual({ ok: true, outputs: [] });
    expect(await pool.checkSyntax('range(1e12)')).toEqual({ ok: true, outputs: [] });
    expect(await pool.checkSyntax('. |')).toMatchObject({ ok: false, reason: 'syntax' });
  });
});

/** Each either ends by itself or is ended, and none of them learns anything. */
const hostile: readonly string[] = [
  'def f: f; f',
  'def f: [f]; f',
  'def f: f | f; f',
  'def f(g): f(f(g)); f(1)',
  'range(1e12)',
  '[range(1e12)]',
  'last(range(1e12))',
  '[repeat(1)]',
  'repeat("x")',
  'until(false; .)',
  'while(true; .)',
  '[recurse([.])]',
  'recurse(.; true)',
  'reduce range(64) as $i ("x"; . + .)',
  'reduce range(1e9) as $i (.; [.])',
  'foreach range(1e12) as $i (0; . + 1)',
  '"x" * 1e9',
  '"x" * 1e6 | [., .] | [., .] | [., .] | tojson | . * 1000',
  '[limit(1e9; repeat("x"))] | add',
  '[combinations(30)]',
  '[range(60)] | [combinations]',
  '"a" * 40 | test("^(a+)+$")',
  '("a" * 40 + "b") | test("^(a|a)*$")',
  '[.,.] | until(false; [.[], .[]])',
  'label $out | def f: f; f',
  '. as [$a] ?// $a | error',
  'setpath([1e9]; 1)',
  '.[1e9] = 1',
  'tojson | until(false; tojson)',
  'try error(error) catch until(false; .)',
  'ltrimstr("x") | @sh "\\(range(1e12))"',
  'input | until(false; .)',
  '[inputs] | until(false; .)',
  '['.repeat(8000),
  `${'('.repeat(7000)}1${')'.repeat(7000)}`,
  'limit(1e12; repeat(1) | select(false))',
  'halt',
  '"x" | halt_error(0)',
  'debug | stderr | empty',
];

describe('a hostile filter', () => {
  const named = hostile.map((filter) => [filter.slice(0, 60), filter] as const);

  it.each(named)('%s ends in time, and the next one works', async (_name, filter) => {
    const startedAt = performance.now();
    const result = await run(filter, '[1]');
    const ms = performance.now() - startedAt;
    if (result.ok) expect(result.outputs.join('').length).toBeLessThan(300_000);
    expect(ms).toBeLessThan(10_000); // It ends, however busy the machine is.
    expect(await run('.[0]', '[7]')).toEqual({ ok: true, outputs: ['7'] });
  });

  it.each([
    'env',
    '$ENV',
    'env.PATH',
    '[env | keys[]]',
    'input_filename',
    'get_search_list',
    '$__loc__',
    '$__prog_args',
    'import "/etc/passwd" as $x; $x',
    'import "a" as a {search: "/"}; a::b',
    'include "x" {search: "./"}; .',
    '"/etc/passwd" | modulemeta',
    'input',
    '[inputs]',
    'getpath(["constructor"])',
    '@sh "\\(.)"',
    'builtins | length',
    '-f',
    '--rawfile x /etc/passwd $x',
    '-n input',
    '--version',
    'debug',
    'stderr',
    'now | localtime | mktime',
  ])('%s shows nothing of ours', async (filter) => {
    process.env['JQ_CANARY'] = 'jq-canary';
    const text = JSON.stringify(await run(filter, '{"a":1}'));
    for (const secret of ['jq-canary', 'root:', process.cwd(), process.env['PATH']!]) {
      expect(text).not.toContain(secret);
    }
  });

  it('sees only the input of its own call', async () => {
    await run('.', '{"secret":"of the call before"}');
    for (const filter of ['input', '[inputs]', '$ENV', 'input_line_number', '.']) {
      expect(JSON.stringify(await run(filter, 'null'))).not.toContain('secret');
    }
  });
});

/** `npm run test:jq` takes 500 of them (docs/reference/security.md#outbound-requests). */
const hostileCount = Number(process.env['JQ_HOSTILE'] ?? 12);
const hostileSeed = Number(process.env['JQ_SEED'] ?? 20_261_121);

describe(`${hostileCount} hostile filters (JQ_SEED=${hostileSeed})`, () => {
  it(
    'all end, the pool stays small, and a neighbour gets its own answers',
    { timeout: 60_000 + hostileCount * 2_000 },
    async () => {
      await using shared = createJqPool({ workers: 2 });
      const neighbour = async () => {
        const startedAt = performance.now();
        const n = Math.floor(startedAt);
        const call = {
          filter: '.n + 1',
          input: `{"n":${n}}`,
          owner: 'neighbour',
          timeoutMs: 10_000,
        };
        expect(await shared.run(call)).toEqual({ ok: true, outputs: [String(n + 1)] });
        return performance.now() - startedAt;
      };
      const alone: number[] = [];
      for (let n = 0; n < 200; n += 1) alone.push(await neighbour());

      const rss = process.memoryUsage().rss;
      let peak = 0;
      const took: number[] = [];
      const left = hostileFilters(hostileCount, hostileSeed);
      const attack = async () => {
        for (let filter = left.pop(); filter !== undefined; filter = left.pop()) {
          const startedAt = performance.now();
          const result = await shared.run({ filter, input: '[1]', owner: 'hostile' });
          took.push(performance.now() - startedAt);
          if (result.ok) expect(result.outputs.join('').length, filter).toBeLessThan(300_000);
        }
      };
      let isOver = false;
      const attacking = attack().finally(() => {
        isOver = true;
      });
      const beside: number[] = [];
      while (!isOver) {
        beside.push(await neighbour());
        peak = Math.max(peak, process.memoryUsage().rss - rss);
        await sleep(5);
      }
      await attacking;

      expect(took).toHaveLength(hostileCount);
      expect(peak).toBeLessThan(512 * 1024 * 1024);
      // On a thread that is free of them it waits for none.
      expect(beside.length).toBeGreaterThan(hostileCount / 4);
      if (hostileCount >= 500) {
        process.stdout.write(
          `hostile: median ${ms(took, 0.5)}, slowest ${ms(took, 1)}, ${Math.round(peak / 1048576)} MiB more; ` +
            `neighbour alone p50 ${ms(alone, 0.5)} p99 ${ms(alone, 0.99)}, ` +
            `beside p50 ${ms(beside, 0.5)} p99 ${ms(beside, 0.99)} of ${beside.length}\n`,
        );
      }
    },
  );
});

function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(at * sorted.length))] ?? 0;
}

const ms = (values: readonly number[], at: number) => `${quantile(values, at).toFixed(1)} ms`;

describe('the pool', () => {
  it('gives filters over one input their own results and deadlines', async () => {
    const filters = ['.', 'range(1e12)', '. + 1', 'nope', 'def f: [f]; f', '. + 2'];
    // Long enough that memory runs out first, on a busy machine too.
    await using patient = createJqPool({ timeoutMs: 4_000 });
    const results = await patient.runMany({
      input: '1',
      filters: filters.map((filter) => ({ filter })),
    });
    expect(results.map((result) => (result.ok ? result.outputs[0] : result.reason))).toEqual([
      '1',
      'timeout',
      '2',
      'syntax',
      'memory',
      '3',
    ]);
    expect(await pool.runMany({ input: '1', filters: [] })).toEqual([]);
  });

  it('keeps calls apart while others misbehave on the next thread', async () => {
    await using two = createJqPool({ workers: 2 });
    await Promise.all([run('.', '1', two), run('.', '1', two)]);
    let stop = false;
    const noise = (async () => {
      while (!stop) await run('range(1e12)', '1', two);
    })();
    const slowest = { ms: 0 };
    for (let n = 0; n < 200; n += 1) {
      const startedAt = performance.now();
      expect(await run('.n + 1', `{"n":${n}}`, two)).toEqual({
        ok: true,
        outputs: [String(n + 1)],
      });
      slowest.ms = Math.max(slowest.ms, performance.now() - startedAt);
    }
    stop = true;
    await noise;
    expect(slowest.ms).toBeLessThan(10_000);
  });

  it('lets nobody wait for all that somebody else has asked for', async () => {
    await using shared = createJqPool({ workers: 2 });
    const enough = new AbortController();
    const hostile = Array.from({ length: 12 }, () =>
      shared.run({
        filter: 'range(1e12)',
        input: '1',
        owner: 'hostile',
        timeoutMs: 600_000,
        signal: enough.signal,
      }),
    );
    // In the order of their asking, or with both threads taken, none of these would ever end.
    for (let n = 0; n < 10; n += 1) {
      const call = { filter: '. + 1', input: String(n), owner: 'neighbour', timeoutMs: 10_000 };
      expect(await shared.run(call)).toEqual({ ok: true, outputs: [String(n + 1)] });
    }
    enough.abort();
    expect(await Promise.all(hostile)).toMatchObject(hostile.map(() => ({ reason: 'timeout' })));
  });

  it('answers busy to who fills the queue, and not to others', async () => {
    await using small = createJqPool({ workers: 1, queueMax: 8 });
    const calls = (owner: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, () => small.run({ filter: '.', input: '1', owner })),
      );
    const [greedy, modest] = await Promise.all([calls('greedy', 10), calls('modest', 2)]);
    expect(greedy.filter(({ ok }) => ok)).toHaveLength(2);
    expect(modest.map(({ ok }) => ok)).toEqual([true, true]);
  });

  it('answers busy when too many wait', async () => {
    await using small = createJqPool({ queueMax: 3 });
    const results: JqResult[] = await Promise.all(
      Array.from({ length: 10 }, () => run('.', '1', small)),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(3);
    expect(results.filter((result) => !result.ok && result.reason === 'busy')).toHaveLength(7);
  });

  it('does not count the start of a thread against the filter', async () => {
    const results: unknown[] = [];
    for (let n = 0; n < 5; n += 1) {
      // Less than any thread takes to start.
      await using fresh = createJqPool({ timeoutMs: 20 });
      results.push(await run('.', '1', fresh));
    }
    // One is enough: a busy machine may hold up the filter itself.
    expect(results).toContainEqual({ ok: true, outputs: ['1'] });
  });

  it('follows the signal of a call, waiting or running', async () => {
    await using one = createJqPool();
    const running = new AbortController();
    const waiting = new AbortController();
    const timeoutMs = 5000;
    const calls = [running, waiting].map(({ signal }) =>
      one.run({ filter: 'range(1e12)', input: '1', signal, timeoutMs }),
    );
    const startedAt = performance.now();
    setTimeout(() => waiting.abort(), 50);
    setTimeout(() => running.abort(), 150);
    expect(await Promise.all(calls)).toMatchObject([{ reason: 'timeout' }, { reason: 'timeout' }]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(await run('.', '1', one)).toEqual({ ok: true, outputs: ['1'] });
  });

  it('stops idle threads and starts them again', async () => {
    await using idle = createJqPool({ idleMs: 20 });
    for (let n = 0; n < 3; n += 1) {
      expect(await run('.', '1', idle)).toEqual({ ok: true, outputs: ['1'] });
      await sleep(60);
    }
  });

  it('gives up what runs and waits when it is closed', async () => {
    const closing = createJqPool({ timeoutMs: 10_000 });
    const calls = Array.from({ length: 3 }, () => run('range(1e12)', '1', closing));
    await sleep(200);
    await closing[Symbol.asyncDispose]();
    expect(await Promise.all(calls)).toMatchObject(calls.map(() => ({ reason: 'busy' })));
    expect(await run('.', '1', closing)).toMatchObject({ reason: 'busy' });
  });

  it('stays right and small over thousands of runs', { timeout: 60_000 }, async () => {
    const before = process.memoryUsage().rss;
    for (let n = 0; n < 3000; n += 1) {
      const input = JSON.stringify({ n, text: `${n} `.repeat(20) });
      const filter =
        n % 3 === 0 ? '.n' : n % 3 === 1 ? '.text | split(" ")[0] | tonumber' : 'halt_error';
      const result = await run(filter, input);
      if (n % 3 < 2) expect(result).toEqual({ ok: true, outputs: [String(n)] });
      else expect(result).toMatchObject({ ok: false, reason: 'runtime' });
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });
});

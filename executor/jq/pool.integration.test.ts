import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';

import { chooseSeed, chooseSweepValue } from '../../test/support/sweeps.ts';
import { generateHostileFilters } from './hostile.testing.ts';
import { createJqPool } from './pool.ts';
import type { JqPool, JqResult } from './pool.ts';

const pool = createJqPool();
afterAll(() => pool[Symbol.asyncDispose]());

const runFilter = (filter: string, input = 'null', on: JqPool = pool) => on.run({ filter, input });
/**
 * Runs a filter that must end by itself. The time limit is long, because a busy machine may need
 * more than the usual time limit.
 */
const runPatiently = (filter: string, input = 'null', on: JqPool = pool) =>
  on.run({ filter, input, timeoutMs: 10_000 });

const userJson = '{"id":12345678901234567890,"name":"Ann é😀","tags":["a","b"],"n":1.50}';

describe('a filter', () => {
  it.each<[string, string, string[]]>([
    ['.', userJson, ['{"id":12345678901234567890,"name":"Ann é😀","tags":["a","b"],"n":1.50}']],
    ['.id', userJson, ['12345678901234567890']],
    ['.name', userJson, ['"Ann é😀"']],
    ['.tags[]', userJson, ['"a"', '"b"']],
    ['.missing', userJson, ['null']],
    ['empty', userJson, []],
    ['.tags | length', userJson, ['2']],
    ['{name, first: .tags[0]}', userJson, ['{"name":"Ann é😀","first":"a"}']],
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
  ])('given as %j gives for the input %s the outputs %j', async (filter, input, outputs) => {
    expect(await runPatiently(filter, input)).toEqual({ ok: true, outputs });
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
  )('given as %j fails with the reason $2', async (_name, filter, reason) => {
    expect(await runPatiently(filter, '{"a":"text"}')).toMatchObject({ ok: false, reason });
  });

  it('fails with jq’s error message, shortened', async () => {
    expect(await runPatiently('.a[')).toMatchObject({
      message: expect.stringMatching(
        /^syntax error, unexpected end of file at <top-level>, line 1/,
      ),
    });
    const longError = await runPatiently('error("x" * 100000)');
    expect(longError).toMatchObject({ reason: 'runtime', message: 'x'.repeat(500) });
  });

  it('fails when its input is not JSON', async () => {
    expect(await runPatiently('.', 'not json')).toMatchObject({ ok: false, reason: 'runtime' });
  });

  it('is compiled by checkSyntax, but not run', async () => {
    await using patient = createJqPool({ timeoutMs: 10_000 });
    expect(await patient.checkSyntax('error("x")')).toEqual({ ok: true, outputs: [] });
    expect(await patient.checkSyntax('range(1e12)')).toEqual({ ok: true, outputs: [] });
    expect(await patient.checkSyntax('. |')).toMatchObject({ ok: false, reason: 'syntax' });
  });
});

/**
 * Each of these filters ends by itself or is stopped, and none of them reads anything from the
 * host.
 */
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
  // A filter that hangs takes its whole time limit, so the sample contains only every fourth
  // filter.
  const stride = chooseSweepValue({ sampled: 4, whole: 1 });
  const namedFilters = hostile
    .filter((_, at) => at % stride === 0)
    .map((filter) => [filter.slice(0, 60), filter] as const);

  it.each(namedFilters)('ends in time, and the next filter works: %s', async (_name, filter) => {
    const startedAt = performance.now();
    const result = await runFilter(filter, '[1]');
    const ms = performance.now() - startedAt;
    if (result.ok) expect(result.outputs.join('').length).toBeLessThan(300_000);
    expect(ms).toBeLessThan(10_000); // Tolerates a busy machine.
    expect(await runPatiently('.[0]', '[7]')).toEqual({ ok: true, outputs: ['7'] });
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
  ])('reveals nothing of the host: %s', async (filter) => {
    process.env['JQ_CANARY'] = 'jq-canary';
    const text = JSON.stringify(await runFilter(filter, '{"a":1}'));
    for (const secret of ['jq-canary', 'root:', process.cwd(), process.env['PATH']!]) {
      expect(text).not.toContain(secret);
    }
  });

  it('sees only the input of its own call', async () => {
    await runPatiently('.', '{"secret":"of the call before"}');
    for (const filter of ['input', '[inputs]', '$ENV', 'input_line_number', '.']) {
      expect(JSON.stringify(await runPatiently(filter, 'null'))).not.toContain('secret');
    }
  });
});

/**
 * The number of filters; `npm run test:jq` runs 500 (docs/reference/security.md#outbound-requests).
 */
const hostileCount = Number(process.env['JQ_HOSTILE'] ?? 12);
const hostileSeed = chooseSeed(20_261_121);

describe(`${hostileCount} hostile filters (TEST_SEED=${hostileSeed})`, () => {
  it(
    'all end, the pool’s memory stays small, and another user’s filters get their own outputs',
    { timeout: 60_000 + hostileCount * 2_000 },
    async () => {
      await using shared = createJqPool({ workers: 2 });
      const runOtherUsersFilter = async () => {
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
      for (let n = 0; n < 200; n += 1) alone.push(await runOtherUsersFilter());

      const rss = process.memoryUsage().rss;
      let peak = 0;
      const took: number[] = [];
      const filtersLeft = generateHostileFilters(hostileCount, hostileSeed);
      const runHostileFilters = async () => {
        for (let filter = filtersLeft.pop(); filter !== undefined; filter = filtersLeft.pop()) {
          const startedAt = performance.now();
          const result = await shared.run({ filter, input: '[1]', owner: 'hostile' });
          took.push(performance.now() - startedAt);
          if (result.ok) expect(result.outputs.join('').length, filter).toBeLessThan(300_000);
        }
      };
      let isOver = false;
      const attackEnd = runHostileFilters().finally(() => {
        isOver = true;
      });
      const beside: number[] = [];
      while (!isOver) {
        beside.push(await runOtherUsersFilter());
        peak = Math.max(peak, process.memoryUsage().rss - rss);
        await sleep(5);
      }
      await attackEnd;

      expect(took).toHaveLength(hostileCount);
      expect(peak).toBeLessThan(512 * 1024 * 1024);
      // The neighbour's filters need not wait, because one thread stays free of the hostile user's
      // filters.
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

const manyCalls = chooseSweepValue({ sampled: 600, whole: 3_000 });

describe('the pool of jq threads', () => {
  it('gives each of several filters over one input its own result and time limit', async () => {
    const filters = ['.', 'range(1e12)', '. + 1', 'nope', 'def f: [f]; f', '. + 2'];
    // The time limit is so long that the memory limit is reached first, even on a busy machine.
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

  it('runs a call normally while filters on the next thread hang', async () => {
    await using two = createJqPool({ workers: 2 });
    await Promise.all([runPatiently('.', '1', two), runPatiently('.', '1', two)]);
    let stop = false;
    let timeouts = 0;
    const hangingFilters = (async () => {
      for (; !stop; timeouts += 1) await runFilter('range(1e12)', '1', two);
    })();
    for (let n = 0; n < 200; n += 1) {
      // The deadline is long because a busy machine may delay this filter. Only a delay by the
      // other user's filters is an error.
      const call = { filter: '.n + 1', input: `{"n":${n}}`, timeoutMs: 10_000 };
      expect(await two.run(call)).toEqual({ ok: true, outputs: [String(n + 1)] });
    }
    stop = true;
    await hangingFilters;
    // If calls waited behind all of the noisy user's calls, each would wait for a timeout of one of
    // them.
    expect(timeouts).toBeLessThan(150);
  });

  it('runs a user’s filter before all filters that another user has sent earlier', async () => {
    await using shared = createJqPool({ workers: 2 });
    const abortHanging = new AbortController();
    const hostile = Array.from({ length: 12 }, () =>
      shared.run({
        filter: 'range(1e12)',
        input: '1',
        owner: 'hostile',
        timeoutMs: 600_000,
        signal: abortHanging.signal,
      }),
    );
    // None of these filters would end if calls ran in the order of arrival, or if one user could
    // take both threads.
    for (let n = 0; n < 10; n += 1) {
      const call = { filter: '. + 1', input: String(n), owner: 'neighbour', timeoutMs: 10_000 };
      expect(await shared.run(call)).toEqual({ ok: true, outputs: [String(n + 1)] });
    }
    abortHanging.abort();
    expect(await Promise.all(hostile)).toMatchObject(hostile.map(() => ({ reason: 'timeout' })));
  });

  it('runs a filter of an agent before the waiting ones of another agent of the same user', async () => {
    await using shared = createJqPool({ workers: 2 });
    const ended: string[] = [];
    const run = async (identity: string, filter: string) => {
      await shared.run({ filter, input: '{"a":1}', owner: 'user', identity });
      ended.push(identity);
    };
    const hanging = Array.from({ length: 4 }, () => run('slow', 'last(range(1e12))'));
    await Promise.all([...hanging, run('quick', '.a')]);
    expect(ended).toEqual(['slow', 'quick', 'slow', 'slow', 'slow']);
  });

  it('answers busy to a user that fills the queue, and not to other users', async () => {
    await using small = createJqPool({ workers: 1, queueMax: 8, timeoutMs: 10_000 });
    const calls = (owner: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, () => small.run({ filter: '.', input: '1', owner })),
      );
    const [greedy, modest] = await Promise.all([calls('greedy', 10), calls('modest', 2)]);
    expect(greedy.filter(({ ok }) => ok)).toHaveLength(2);
    expect(modest.map(({ ok }) => ok)).toEqual([true, true]);
  });

  it('answers busy when too many calls wait', async () => {
    await using small = createJqPool({ queueMax: 3, timeoutMs: 10_000 });
    const results: JqResult[] = await Promise.all(
      Array.from({ length: 10 }, () => runFilter('.', '1', small)),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(3);
    expect(results.filter((result) => !result.ok && result.reason === 'busy')).toHaveLength(7);
  });

  it('does not count the start of a thread against a filter’s time limit', async () => {
    // A busy machine may delay the filter itself beyond the limit, so one success is enough.
    await expect
      .poll(async () => {
        // The time limit of a filter is shorter than the time that any thread takes to start.
        await using fresh = createJqPool({ timeoutMs: 20 });
        return await runFilter('.', '1', fresh);
      })
      .toEqual({ ok: true, outputs: ['1'] });
  });

  it('ends a waiting or running call when the call’s signal aborts', async () => {
    await using singlePool = createJqPool();
    const running = new AbortController();
    const abortWaiting = new AbortController();
    const timeoutMs = 5000;
    const calls = [running, abortWaiting].map(({ signal }) =>
      singlePool.run({ filter: 'range(1e12)', input: '1', signal, timeoutMs }),
    );
    const startedAt = performance.now();
    setTimeout(() => abortWaiting.abort(), 50);
    setTimeout(() => running.abort(), 150);
    expect(await Promise.all(calls)).toMatchObject([{ reason: 'timeout' }, { reason: 'timeout' }]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(await runPatiently('.', '1', singlePool)).toEqual({ ok: true, outputs: ['1'] });
  });

  it('stops idle threads and starts threads again when they are needed', async () => {
    await using idle = createJqPool({ idleMs: 20 });
    for (let n = 0; n < 3; n += 1) {
      expect(await runPatiently('.', '1', idle)).toEqual({ ok: true, outputs: ['1'] });
      await sleep(60);
    }
  });

  it('ends running and waiting calls when it is closed', async () => {
    const closingPool = createJqPool({ timeoutMs: 10_000 });
    const calls = Array.from({ length: 3 }, () => runFilter('range(1e12)', '1', closingPool));
    await sleep(200);
    await closingPool[Symbol.asyncDispose]();
    expect(await Promise.all(calls)).toMatchObject(calls.map(() => ({ reason: 'busy' })));
    expect(await runFilter('.', '1', closingPool)).toMatchObject({ reason: 'busy' });
  });

  it('gives right results and keeps its memory small over many calls', async () => {
    // The memory of the process without this thread's own heap, which holds the test data.
    const measureMemory = () => process.memoryUsage().rss - process.memoryUsage().heapTotal;
    const before = measureMemory();
    for (let n = 0; n < manyCalls; n += 1) {
      const input = JSON.stringify({ n, text: `${n} `.repeat(20) });
      const filter =
        n % 3 === 0 ? '.n' : n % 3 === 1 ? '.text | split(" ")[0] | tonumber' : 'halt_error';
      const result = await pool.run({ filter, input, timeoutMs: 10_000 });
      if (n % 3 < 2) expect(result).toEqual({ ok: true, outputs: [String(n)] });
      else expect(result).toMatchObject({ ok: false, reason: 'runtime' });
    }
    expect(measureMemory() - before).toBeLessThan(150 * 1024 * 1024);
  });
});

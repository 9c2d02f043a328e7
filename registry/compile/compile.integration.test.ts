import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { exampleDocument } from '../test-support/example-document.ts';
import { createCompiler } from './index.ts';
import type { Compiler } from './index.ts';

const owner = { tier: 'user', ownerId: uuidv7() } as const;
const good = { ...owner, text: JSON.stringify(exampleDocument()) };
const deep = { ...owner, text: '['.repeat(100_000) };

describe('compiling what an author wrote', () => {
  let compiler: Compiler;
  beforeAll(() => {
    compiler = createCompiler({ egressAllow: '127.0.0.1:4010' });
  });
  afterAll(() => compiler[Symbol.asyncDispose]());

  test('gives what the compiler gives, again and again', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { report, template } = await compiler.compile(good);
      expect(report).toEqual({ valid: true, errors: [], warnings: [] });
      expect(template).toMatchObject({ key: 'example', ...owner, version: 1 });
    }
  });

  test('knows where plain http is allowed, and whether a filter compiles', async () => {
    const at = (url: string) => ({
      ...owner,
      text: JSON.stringify({ ...exampleDocument(), servers: [{ url }] }),
    });
    expect((await compiler.compile(at('http://127.0.0.1:4010'))).report.valid).toBe(true);
    expect((await compiler.compile(at('http://127.0.0.1:4011'))).report.errors).toMatchObject([
      { code: 'server_not_https' },
    ]);
    const text = good.text.replace('.body.title', '.body[');
    expect((await compiler.compile({ ...owner, text })).report.errors).toMatchObject([
      { code: 'disclose_invalid' },
    ]);
  });

  test('leaves the event loop to others meanwhile', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const { report } = await compiler.compile(deep);
    clearInterval(timer);
    expect(report.errors).toMatchObject([{ code: 'too_complex' }]);
    expect(turns).toBeGreaterThan(0);
  });

  test('takes many at once, and refuses more than can wait', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => compiler.compile(good)),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    const reason = { code: 'unavailable' };
    expect(refused).toMatchObject([{ reason }, { reason }]);
    expect((await compiler.compile(good)).report.valid).toBe(true);
  });
});

test('what takes too long is refused, and the next document is none the worse', async () => {
  await using compiler = createCompiler({ egressAllow: '', timeoutMs: 0 });
  expect((await compiler.compile(deep)).report.errors).toMatchObject([{ code: 'too_complex' }]);
  expect((await compiler.compile(deep)).template).toBeUndefined();
});

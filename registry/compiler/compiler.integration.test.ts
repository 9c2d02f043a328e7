import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { exampleDocument } from './domain/example-document.testing.ts';
import { createCompiler } from './compiler.ts';
import type { Compiler } from './compiler.ts';

const owner = { tier: 'user', ownerId: uuidv7() } as const;
const validDocument = { ...owner, text: JSON.stringify(exampleDocument()) };
const deeplyNestedDocument = { ...owner, text: '['.repeat(100_000) };

describe('the compiler threads', () => {
  let compiler: Compiler;
  beforeAll(() => {
    compiler = createCompiler({ egressAllow: '127.0.0.1:4010' });
  });
  afterAll(() => compiler[Symbol.asyncDispose]());

  test('return the result of the compiler, also when a document is compiled twice', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { report, template } = await compiler.compile(validDocument);
      expect(report).toEqual({ valid: true, errors: [], warnings: [] });
      expect(template).toMatchObject({ key: 'example', ...owner, version: 1 });
    }
  });

  test('accept plain http only for hosts that the operator allows, and check the syntax of filters', async () => {
    const at = (url: string) => ({
      ...owner,
      text: JSON.stringify({ ...exampleDocument(), servers: [{ url }] }),
    });
    expect((await compiler.compile(at('http://127.0.0.1:4010'))).report.valid).toBe(true);
    expect((await compiler.compile(at('http://127.0.0.1:4011'))).report.errors).toMatchObject([
      { code: 'server_not_https' },
    ]);
    const text = validDocument.text.replace('.body.title', '.body[');
    expect((await compiler.compile({ ...owner, text })).report.errors).toMatchObject([
      { code: 'disclose_invalid' },
    ]);
  });

  test('do not block the event loop', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const { report } = await compiler.compile(deeplyNestedDocument);
    clearInterval(timer);
    expect(report.errors).toMatchObject([{ code: 'too_complex' }]);
    expect(turns).toBeGreaterThan(0);
  });

  test('compile several documents at once, and refuse documents when the queue is full', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 34 }, () => compiler.compile(validDocument)),
    );
    const refusedOutcomes = outcomes.filter(({ status }) => status === 'rejected');
    const reason = { code: 'unavailable' };
    expect(refusedOutcomes).toMatchObject([{ reason }, { reason }]);
    expect((await compiler.compile(validDocument)).report.valid).toBe(true);
  });

  test('let users take turns, and refuse only the user who has too many waiting jobs', async () => {
    const finished: string[] = [];
    const compileFor = async (user: string) => {
      await compiler.compile(validDocument, { owner: user });
      finished.push(user);
    };
    const outcomesOfAnn = Promise.allSettled(Array.from({ length: 12 }, () => compileFor('ann')));
    const outcomesOfBob = Promise.allSettled([compileFor('bob')]);
    expect(await outcomesOfBob).toMatchObject([{ status: 'fulfilled' }]);
    const refused = (await outcomesOfAnn).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBe(4);
    expect(finished.slice(0, 2)).toContain('bob');
  });
});

test('the compiler threads refuse a document that takes too long, and compile the next document', async () => {
  await using compiler = createCompiler({ egressAllow: '', timeoutMs: 0 });
  expect((await compiler.compile(deeplyNestedDocument)).report.errors).toMatchObject([
    { code: 'too_complex' },
  ]);
  expect((await compiler.compile(deeplyNestedDocument)).template).toBeUndefined();
});

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { limitRepeats } from './limit-repeats.ts';

const lines: [level: string, fields: object, message: string][] = [];
const collect = (level: string) => (fields: object, message: string) =>
  void lines.push([level, fields, message]);
const collector = { info: collect('info'), warn: collect('warn'), error: collect('error') };

beforeEach(() => {
  lines.length = 0;
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

describe('a limited log', () => {
  test('contains the first of several equal lines, then one line a minute with their number until they end', () => {
    const logger = limitRepeats(collector);
    const logFailure = (sequence: number) =>
      logger.error({ message: `write of ${sequence}: no space left` }, 'nats fails');
    for (let at = 1; at <= 1_000; at += 1) logFailure(at);
    vi.advanceTimersByTime(60_000);
    logFailure(1_001);
    vi.advanceTimersByTime(600_000);
    logFailure(1_002);

    expect(lines).toEqual([
      ['error', { message: 'write of 1: no space left' }, 'nats fails'],
      ['error', { message: 'write of 1000: no space left', repeated: 999 }, 'nats fails'],
      ['error', { message: 'write of 1001: no space left', repeated: 1 }, 'nats fails'],
      ['error', { message: 'write of 1002: no space left' }, 'nats fails'],
    ]);
  });

  test('contains every line that differs from the others, and every line of the level info', () => {
    const logger = limitRepeats(collector);
    for (let at = 0; at < 2; at += 1) {
      logger.warn({ message: 'disk' }, 'nats warns');
      logger.warn({ message: 'memory' }, 'nats warns');
      logger.info({ pid: 1 }, 'nats started');
    }
    expect(lines.map(([level, fields]) => [level, fields])).toEqual([
      ['warn', { message: 'disk' }],
      ['warn', { message: 'memory' }],
      ['info', { pid: 1 }],
      ['info', { pid: 1 }],
    ]);
  });

  test('contains at most 100 different lines with one message in a minute, then one for all others', () => {
    const logger = limitRepeats(collector);
    for (let at = 0; at < 1_000; at += 1) {
      const letters = String(at).replaceAll(/\d/g, (digit) => 'abcdefghij'[Number(digit)] ?? '');
      logger.error({ message: letters }, 'nats fails');
    }
    expect(lines).toHaveLength(101);
  });
});

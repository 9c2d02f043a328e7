import { describe, expect, it } from 'vitest';

import { mayHaveLeft } from './failures.ts';
import { headerValueOf, toIncomingHeaders, toOutgoingHeaders } from './headers.ts';

function errorOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('the headers of a request to an upstream (outgoingHeaders)', () => {
  it('keep order and repetitions; every repetition of a name has the letter case of the first occurrence', () => {
    const pairs = [
      ['X-A', '1'],
      ['accept', '*/*'],
      ['x-a', '2'],
    ] as const;
    expect(toOutgoingHeaders(pairs)).toEqual(['X-A', '1', 'accept', '*/*', 'X-A', '2']);
    expect(toOutgoingHeaders({ 'X-A': 'tab\tand \u00e9' })).toEqual(['X-A', 'tab\tand \u00e9']);
  });

  it.each([
    'Host',
    'hOsT',
    'Content-Length',
    'Transfer-Encoding',
    'TE',
    'Trailer',
    'Upgrade',
    'Keep-Alive',
    'Expect',
    'Proxy-Authorization',
    'Proxy-Connection',
    'HTTP2-Settings',
    'Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Real-IP',
  ])('do not contain %s', (name) => {
    expect(toOutgoingHeaders({ [name]: 'x', 'X-Keep': 'y' })).toEqual(['X-Keep', 'y']);
  });

  it('do not contain a Connection header that names no end-to-end header', () => {
    expect(toOutgoingHeaders({ Connection: 'keep-alive, Upgrade, TE,' })).toEqual([]);
  });

  it.each(['X-Api-Key', 'close, Authorization', 'authorization'])(
    'are refused with a Connection header that names %s',
    (value) => {
      const error = errorOf(() => toOutgoingHeaders({ 'X-Api-Key': 's', connection: value }));
      expect(error).toMatchObject({ code: 'invalid_request' });
      expect(mayHaveLeft(error)).toBe(false);
    },
  );

  it.each([
    ['X-A', 'a\r\nX-B: c'],
    ['X-A', 'a\nb'],
    ['X-A', 'a\rb'],
    ['X-A', 'a\0b'],
    ['X-A', 'a\u007fb'],
    ['X-A', 'line\u010afeed'],
    ['X-A', '\ud83d'],
    ['X A', 'b'],
    ['X-A:', 'b'],
    ['X-A\r\nX-B', 'c'],
    ['', 'b'],
    ['\u00e9', 'b'],
    [':authority', 'b'],
  ])('are refused with a header named %j with the value %j', (name, value) => {
    const error = errorOf(() => toOutgoingHeaders([[name, value]]));
    expect(error).toMatchObject({ code: 'invalid_request' });
    expect(mayHaveLeft(error)).toBe(false);
  });

  it('are refused when they have more than 64 KiB', () => {
    const error = errorOf(() => toOutgoingHeaders({ 'X-A': 'a'.repeat(64 * 1024) }));
    expect(error).toMatchObject({ code: 'invalid_request' });
  });
});

describe('the headers of an answer (incomingHeaders)', () => {
  it('keep letter case and repetitions, and are found by a name in any letter case', () => {
    const raw = ['Set-Cookie', 'a', 'set-cookie', 'b\u00e9'].map((text) =>
      Buffer.from(text, 'latin1'),
    );
    const pairs = toIncomingHeaders(raw);
    expect(pairs).toEqual([
      ['Set-Cookie', 'a'],
      ['set-cookie', 'b\u00e9'],
    ]);
    expect(headerValueOf(pairs, 'set-cookie')).toBe('a, b\u00e9');
    expect(headerValueOf(pairs, 'x')).toBeUndefined();
  });
});

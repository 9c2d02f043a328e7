import { describe, expect, it } from 'vitest';

import { mayHaveLeft } from './failures.ts';
import { headerValue, incomingHeaders, outgoingHeaders } from './headers.ts';

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('outgoingHeaders', () => {
  it('keeps order, casing and repetitions, in the first of several spellings', () => {
    const pairs = [
      ['X-A', '1'],
      ['accept', '*/*'],
      ['x-a', '2'],
    ] as const;
    expect(outgoingHeaders(pairs)).toEqual(['X-A', '1', 'accept', '*/*', 'X-A', '2']);
    expect(outgoingHeaders({ 'X-A': 'tab\tand \u00e9' })).toEqual(['X-A', 'tab\tand \u00e9']);
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
  ])('leaves out %s', (name) => {
    expect(outgoingHeaders({ [name]: 'x', 'X-Keep': 'y' })).toEqual(['X-Keep', 'y']);
  });

  it('leaves out Connection with its ordinary options', () => {
    expect(outgoingHeaders({ Connection: 'keep-alive, Upgrade, TE,' })).toEqual([]);
  });

  it.each(['X-Api-Key', 'close, Authorization', 'authorization'])(
    'refuses a Connection that names %s',
    (value) => {
      const error = refusal(() => outgoingHeaders({ 'X-Api-Key': 's', connection: value }));
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
  ])('refuses %j: %j', (name, value) => {
    const error = refusal(() => outgoingHeaders([[name, value]]));
    expect(error).toMatchObject({ code: 'invalid_request' });
    expect(mayHaveLeft(error)).toBe(false);
  });

  it('refuses more than 64 KiB of them', () => {
    const error = refusal(() => outgoingHeaders({ 'X-A': 'a'.repeat(64 * 1024) }));
    expect(error).toMatchObject({ code: 'invalid_request' });
  });
});

describe('incomingHeaders', () => {
  it('keeps casing and repetitions, and finds values in any casing', () => {
    const raw = ['Set-Cookie', 'a', 'set-cookie', 'b\u00e9'].map((text) =>
      Buffer.from(text, 'latin1'),
    );
    const pairs = incomingHeaders(raw);
    expect(pairs).toEqual([
      ['Set-Cookie', 'a'],
      ['set-cookie', 'b\u00e9'],
    ]);
    expect(headerValue(pairs, 'set-cookie')).toBe('a, b\u00e9');
    expect(headerValue(pairs, 'x')).toBeUndefined();
  });
});

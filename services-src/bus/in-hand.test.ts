import { describe, expect, test } from 'vitest';

import { createInHand } from './in-hand.ts';

const ann = { orgId: 'org', userId: 'ann', identityId: 'bot' };
const statementOf = (caller: object) =>
  `${Buffer.from(JSON.stringify(caller)).toString('base64url')}.key:mac`;
const message = (request: unknown) => ({
  data: Buffer.from(typeof request === 'string' ? request : JSON.stringify(request)),
});

type Taken = ReturnType<ReturnType<typeof createInHand>['take']>;
const taken = (all: readonly Taken[]) => all.filter((each) => typeof each !== 'string');

describe('the requests in hand', () => {
  test.for<[name: string, of: (caller: typeof ann) => object]>([
    ['a principal', (caller) => ({ principal: statementOf(caller), id: 'x' })],
    ['a permit', (caller) => ({ permit: statementOf(caller), call: { principal: 'x' } })],
    ['a gap', (caller) => ({ gap: statementOf(caller) })],
    ['a gap or permit', (caller) => ({ gapOrPermit: statementOf(caller), kind: 'gap' })],
    ['plain ids', ({ orgId, userId, identityId }) => ({ orgId, userId, identityId })],
  ])('are shared out by the caller that %s names', ([, requestOf]) => {
    const inHand = createInHand(256);
    const own = Array.from({ length: 256 }, () => inHand.take(message(requestOf(ann)), 'gateway'));

    expect(taken(own)).toHaveLength(131);
    expect(own.at(-1)).toBe('identity');
    const others = [
      { ...ann, identityId: 'x' },
      { ...ann, userId: 'x' },
      { ...ann, orgId: 'x' },
    ];
    for (const other of others) {
      expect(inHand.take(message(requestOf(other)), 'gateway')).toBeTypeOf('object');
    }
  });

  test.for([
    ['asked for nobody', {}],
    ['no request at all', '{"principal":'],
    ['of a statement that is none', { principal: 'x.y' }],
  ])(
    'that are %s may fill four fifths, and leave the rest to those who say who they are',
    ([, request]) => {
      const inHand = createInHand(256);
      const all = Array.from({ length: 256 }, () => inHand.take(message(request), 'gateway'));

      expect(taken(all).length).toBeGreaterThanOrEqual(203);
      expect(taken(all).length).toBeLessThan(206);
      expect(inHand.take(message({ principal: statementOf(ann) }), 'gateway')).toBeTypeOf('object');
    },
  );

  test('are not looked into while there are few', () => {
    const inHand = createInHand(256);
    let looked = 0;
    const unread = {
      get data(): Uint8Array {
        looked += 1;
        return Buffer.from('{}');
      },
    };
    for (let n = 0; n < 128; n += 1) inHand.take(unread, 'gateway');
    expect(looked).toBe(0);

    inHand.take(unread, 'gateway');
    inHand.take(unread, 'gateway');
    expect(looked).toBe(130);
  });

  test('come back, whether they were looked into or not, and are refused when there is no room at all', () => {
    const inHand = createInHand(32);
    const fill = () => {
      const all: Taken[] = [];
      for (let n = 0; ; n += 1) {
        const held = inHand.take(
          message({ principal: statementOf({ ...ann, orgId: `${n}` }) }),
          'gateway',
        );
        if (held === 'pool') return all;
        all.push(held);
      }
    };
    for (let round = 0; round < 3; round += 1) {
      const all = fill();
      expect(all).toHaveLength(32);
      for (const held of all) {
        if (typeof held === 'string') throw new Error(held);
        held[Symbol.dispose]();
        held[Symbol.dispose]();
      }
    }
  });
});

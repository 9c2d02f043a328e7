import { describe, expect, test } from 'vitest';

import { createInFlightLimit } from './in-flight-limit.ts';

const ann = { orgId: 'org', userId: 'ann', identityId: 'bot' };
const statementOf = (caller: object) =>
  `${Buffer.from(JSON.stringify(caller)).toString('base64url')}.key:mac`;
const createMessage = (request: unknown) => ({
  data: Buffer.from(typeof request === 'string' ? request : JSON.stringify(request)),
});

type Taken = ReturnType<ReturnType<typeof createInFlightLimit>['take']>;
const takenPlaces = (all: readonly Taken[]) => all.filter((each) => typeof each !== 'string');

describe('the limit of requests that a component handles at once', () => {
  test.for<[name: string, of: (caller: typeof ann) => object]>([
    ['a principal', (caller) => ({ principal: statementOf(caller), id: 'x' })],
    ['a permit', (caller) => ({ permit: statementOf(caller), call: { principal: 'x' } })],
    ['a permission gap', (caller) => ({ gap: statementOf(caller) })],
    ['a permission gap or permit', (caller) => ({ gapOrPermit: statementOf(caller), kind: 'gap' })],
    ['plain ids', ({ orgId, userId, identityId }) => ({ orgId, userId, identityId })],
  ])('shares places between the identities that are named in %s', ([, requestOf]) => {
    const inFlightLimit = createInFlightLimit(256);
    const ownPlaces = Array.from({ length: 256 }, () =>
      inFlightLimit.take(createMessage(requestOf(ann)), 'gateway'),
    );

    expect(takenPlaces(ownPlaces)).toHaveLength(131);
    expect(ownPlaces.at(-1)).toBe('identity');
    const others = [
      { ...ann, identityId: 'x' },
      { ...ann, userId: 'x' },
      { ...ann, orgId: 'x' },
    ];
    for (const other of others) {
      expect(inFlightLimit.take(createMessage(requestOf(other)), 'gateway')).toBeTypeOf('object');
    }
  });

  test.for([
    ['a request that names no user', {}],
    ['text that is not JSON', '{"principal":'],
    ['a malformed statement', { principal: 'x.y' }],
  ])(
    'counts %s against the calling component, which may hold four fifths of the places',
    ([, request]) => {
      const inFlightLimit = createInFlightLimit(256);
      const all = Array.from({ length: 256 }, () =>
        inFlightLimit.take(createMessage(request), 'gateway'),
      );

      expect(takenPlaces(all).length).toBeGreaterThanOrEqual(203);
      expect(takenPlaces(all).length).toBeLessThan(206);
      expect(
        inFlightLimit.take(createMessage({ principal: statementOf(ann) }), 'gateway'),
      ).toBeTypeOf('object');
    },
  );

  test('reads no principal from requests while a component handles few requests', () => {
    const inFlightLimit = createInFlightLimit(256);
    let readCount = 0;
    const countingMessage = {
      get data(): Uint8Array {
        readCount += 1;
        return Buffer.from('{}');
      },
    };
    for (let n = 0; n < 128; n += 1) inFlightLimit.take(countingMessage, 'gateway');
    expect(readCount).toBe(0);

    inFlightLimit.take(countingMessage, 'gateway');
    inFlightLimit.take(countingMessage, 'gateway');
    expect(readCount).toBe(130);
  });

  test('frees the places of parsed and unparsed requests once, and refuses requests when all places are taken', () => {
    const inFlightLimit = createInFlightLimit(32);
    const fill = () => {
      const all: Taken[] = [];
      for (let n = 0; ; n += 1) {
        const heldPlace = inFlightLimit.take(
          createMessage({ principal: statementOf({ ...ann, orgId: `${n}` }) }),
          'gateway',
        );
        if (heldPlace === 'pool') return all;
        all.push(heldPlace);
      }
    };
    for (let round = 0; round < 3; round += 1) {
      const all = fill();
      expect(all).toHaveLength(32);
      for (const heldPlace of all) {
        if (typeof heldPlace === 'string') throw new Error(heldPlace);
        heldPlace[Symbol.dispose]();
        heldPlace[Symbol.dispose]();
      }
    }
  });
});
